"""(e) From an mp4 to an mp4 with its masks drawn on, through the real reader, segmenter and writer."""

import hashlib
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.clip import preset_model, sentences_of
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.stages import Stages, TimedSource
from locater.bench.harness.timing import Timing
from locater.inference import chunks as chunks_module
from locater.inference.async_results import AsyncResults
from locater.inference.segmenter import Segmenter
from locater.records import FrameSource
from locater.video import mp4 as mp4_module
from locater.video.overlay import captioned
from locater.video.reader import open_source
from locater.video.writer import open_writers
from locater.video.writers import videos as videos_module
from locater.worlds.shapes import ShapesWorld, video_seed

FRAMES, WIDTH, HEIGHT = 120, 1280, 720
MODEL_STAGES = ("global memory", "segment")


@dataclass(frozen=True)
class Ran:
    """One whole run."""

    seconds: float
    masks: str  # a fingerprint of all masks
    frames: int


def run(request: BenchRequest) -> Report:
    """The time of the whole, and of each stage."""
    frames, width, height = (12, 96, 64) if request.is_quick else (FRAMES, WIDTH, HEIGHT)
    segmenter = Segmenter(preset_model(request), request.device, request.precision)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        video = render_video(folder / "clip.mp4", frames, (width, height), request.device)
        plain = [segment_video(segmenter, open_source(video), folder) for _ in range(1 + min(request.repeats, 3))]
        written = open_source(folder / "overlay.mp4").info
        stages = Stages(request.device)
        with stages.around(*_places(segmenter)):
            timed = segment_video(segmenter, TimedSource(open_source(video), stages, "decode"), folder)
    sides = captioned(np.zeros((height, width, 3), np.uint8), sentences_of(1)).shape  # with its legend
    total = Timing(tuple(each.seconds for each in plain[1:]))
    rows: list[Row] = [
        {"stage": "all, without timers", **total.milliseconds(frames), "frames/s": frames / total.median}
    ]
    for stage, seconds in sorted(stages.seconds.items(), key=lambda item: -item[1]):
        rows.append({"stage": stage, "median_ms": 1e3 * seconds / frames, "share": seconds / timed.seconds})
    model_seconds = sum(stages.seconds.get(stage, 0.0) for stage in MODEL_STAGES)
    grouped = {"the model": model_seconds, **{k: v for k, v in stages.seconds.items() if k not in MODEL_STAGES}}
    slowest = max(grouped, key=lambda stage: grouped[stage])
    return Report(
        name="end_to_end",
        title=f"preset {request.preset}, {frames} frames of {width} x {height}, one sentence, {request.precision}",
        timed="milliseconds per frame from opening an H.264 mp4 to a finished mp4 with masks drawn on, both passes "
        "over the file, by `Segmenter.segment` and the `overlay` writer. The stages are of another run with timers "
        "around the real functions, where the GPU is waited for at every change of stage; each counts its own time "
        f"alone. The model is {' + '.join(MODEL_STAGES)}.",
        columns=("stage", "median_ms", "lowest_ms", "highest_ms", "share", "frames/s"),
        chart=Bars("Where the time goes", "ms per frame", {row["stage"]: row["median_ms"] for row in rows[1:]}),
        rows=rows,
        checks=[
            Check("frames missing from the written video", float(abs((written.frame_count or 0) - frames)), 0),
            Check(
                "written video's sides", abs((written.width or 0) - sides[1]) + abs((written.height or 0) - sides[0]), 0
            ),
            Check("runs whose masks differ", len({each.masks for each in [*plain, timed]}) - 1, 0),
        ],
        notes=[
            f"The slowest stage is {slowest}: {1e3 * grouped[slowest] / frames:.3g} ms per frame, "
            f"{grouped[slowest] / timed.seconds:.0%}; the model takes {1e3 * model_seconds / frames:.3g} ms.",
            "The weights are random, so the drawn masks are larger and rougher than a trained network's.",
        ],
    )


def render_video(path: Path, frames: int, size: tuple[int, int], device: torch.device) -> Path:
    """A video of the shapes world of that width and height, continued to the right by its mirror image."""
    width, height = size
    world = ShapesWorld("test", count=1, size=height, frame_count=frames, frames_per_second=24.0, device=device)
    scene = world.video(video_seed("test", "motion", 0))
    with mp4_module.Mp4File(path, 24.0) as file:
        for frame in scene.frames():
            file.write(np.pad(frame.pixels, ((0, 0), (0, width - height), (0, 0)), mode="reflect"), frame.timestamp)
    return path


def segment_video(segmenter: Segmenter, source: FrameSource, folder: Path) -> Ran:
    """What `locater segment --format overlay` does."""
    fingerprint, count = hashlib.sha256(), 0
    began = time.perf_counter()
    with open_writers(["overlay"], folder, source.info, sentences_of(1)) as writers:
        for result in segmenter.segment(source, sentences_of(1), anyway=True):
            writers.write(result)
            fingerprint.update(np.packbits(result.masks).tobytes())
            count += 1
    return Ran(time.perf_counter() - began, fingerprint.hexdigest(), count)


def _places(segmenter: Segmenter) -> list[tuple[object, str, str]]:
    """Functions by owner and name, and the stage that each belongs to."""
    return [
        (chunks_module, "frames_to_tensor", "resize frames"),
        (segmenter.chunks, "write_global", "global memory"),
        (segmenter.chunks, "segment", "segment"),
        (AsyncResults, "of", "masks to the video's size and back"),
        (AsyncResults, "results", "masks to the video's size and back"),
        (videos_module, "draw", "draw masks"),
        (videos_module, "captioned", "draw masks"),
        (mp4_module.Mp4File, "write", "write mp4"),
        (mp4_module.Mp4File, "__exit__", "write mp4"),
    ]
