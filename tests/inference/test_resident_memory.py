"""A long film takes no more memory than a short one: the real file, network and writers, in a process of their own."""

import json
import subprocess
import sys
import warnings
from fractions import Fraction
from itertools import islice
from pathlib import Path

import av
import numpy as np
import pytest
import torch

from locater.config import preset
from locater.inference.segmenter import NotUnderstoodWarning, Segmenter
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.video.reader import open_source

WIDTH, HEIGHT = 640, 360
EXPRESSION = "the bright box"
SHORT, LONG = (300, 600, 900), (500, 1000, 2000, 3000, 4000, 5000)  # frames at which memory is looked at

# What `locater segment` runs, with a look at the process's memory on the way.
SEGMENT = """
import json, sys
from pathlib import Path
import psutil, torch
import locater
from locater.io.atomic import atomic_entries
from locater.video.reader import open_source
from locater.video.writer import open_writers

torch.set_num_threads(1)
video, checkpoint, out, formats, expression, *measured_at = sys.argv[1:]
expressions = [expression]
source = open_source(video)
segmenter = locater.load(checkpoint, device="cpu")
process, resident, states = psutil.Process(), {}, {}
with atomic_entries(Path(out)) as folder, open_writers(formats.split(","), folder, source.info, expressions) as writers:
    for count, result in enumerate(segmenter.segment(source, expressions, anyway=True), start=1):
        writers.write(result)
        if str(count) in measured_at:
            resident[count] = process.memory_info().rss
            states[count] = result.state.nbytes
print(json.dumps({"count": count, "resident": resident, "states": states}))
"""


def write_long_video(path: Path, frames: int) -> None:
    """A box that moves over grey, which encodes and decodes fast."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(25), options={"preset": "ultrafast", "crf": "40"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        planes = np.full((HEIGHT * 3 // 2, WIDTH), 128, dtype=np.uint8)
        for index in range(frames):
            planes[:HEIGHT] = 90
            left = 4 * index % (WIDTH - 80)
            planes[100:180, left : left + 80] = 200
            container.mux(stream.encode(av.VideoFrame.from_ndarray(planes, format="yuv420p")))
        container.mux(stream.encode(None))


def write_checkpoint(folder: Path, video: Path) -> None:
    """A very small network whose masks cover a twentieth of its pixels: untrained ones cover all and draw slowly."""
    model = build(preset("tiny", {"image_size": 32, "visual": {"depth": 1}, "fusion": {"modules": 1}}), seed=0)
    first = [frame.pixels for frame in islice(open_source(video).frames(), 150)]
    with warnings.catch_warnings(action="ignore", category=NotUnderstoodWarning):
        soft = [
            result.soft_masks for result in Segmenter(model, "cpu").segment(first, EXPRESSION, soft=True, anyway=True)
        ]
    assert model.decoder.upsampler is not None and model.decoder.upsampler.out.bias is not None
    sure = torch.from_numpy(np.stack([masks for masks in soft if masks is not None])).logit()
    with torch.no_grad():
        model.decoder.upsampler.out.bias.sub_(np.quantile(sure, 0.95))
    save_pretrained(model, folder)


@pytest.mark.slow
def test_resident_memory_is_flat(tmp_path: Path) -> None:
    check_flat(tmp_path, SHORT)


@pytest.mark.proof
def test_resident_memory_is_flat_from_frame_500_to_5000(tmp_path: Path) -> None:
    check_flat(tmp_path, LONG)


def check_flat(tmp_path: Path, measured_at: tuple[int, ...]) -> None:
    write_long_video(tmp_path / "long.mp4", measured_at[-1])
    write_checkpoint(tmp_path / "checkpoint", tmp_path / "long.mp4")
    formats = "overlay,rle,sheet"  # those that keep something from frame to frame
    arguments = [tmp_path / "long.mp4", tmp_path / "checkpoint", tmp_path / "out", formats, EXPRESSION]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SEGMENT, *map(str, [*arguments, *measured_at])],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert told["count"] == measured_at[-1]
    megabytes = {int(count): resident / 1e6 for count, resident in told["resident"].items()}
    print("resident MB by frame:", {count: round(size, 1) for count, size in megabytes.items()})
    assert sorted(megabytes) == list(measured_at)
    assert max(megabytes.values()) <= 1.05 * megabytes[measured_at[0]], megabytes
    assert len(set(told["states"].values())) == 1, told["states"]
