"""What a person waits for and what a machine must have: the first mask of a short clip, and resident memory."""

import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.processes import Used, measured
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import Timing
from locater.inference.demo import clip_for
from locater.video.mp4 import Mp4File
from locater.video.reader import open_source

LARGE, LARGE_FRAMES = (3840, 2160), 16
_LOOK_SECONDS = 0.005  # between two looks for the first mask


@dataclass(frozen=True)
class Started:
    """One run of the command."""

    first_mask: float  # seconds from the command to the first mask on the disk
    used: Used
    masks: int  # files


def run(request: BenchRequest) -> Report:
    """Seconds to the first mask and to the end, and peak memory: of a clip, its first second, and that at 4K."""
    checkpoint = request.checkpoint or "default"
    rows: list[Row] = []
    checks: list[Check] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clip = clip_for(checkpoint, folder / "clip.mp4")
        size = (320, 180) if request.is_quick else LARGE
        own = open_source(clip.path).info
        second = round(own.frames_per_second or 24)
        videos = (
            clip.path,
            beginning(clip.path, folder / "second.mp4", (own.width or 0, own.height or 0), second),
            beginning(clip.path, folder / "large.mp4", size, LARGE_FRAMES),
        )
        for video in videos:
            info = open_source(video).info
            runs = [
                segmented(video, clip.expressions[0], checkpoint, folder / f"{video.stem}-{number}")
                for number in range(1 + min(request.repeats, 3))
            ]
            first = Timing(tuple(each.first_mask for each in runs[1:]))
            rows.append(
                {
                    "frames": info.frame_count,
                    "size": f"{info.width} x {info.height}",
                    "first mask, s": first.median,
                    "lowest, s": min(first.seconds),
                    "all, s": Timing(tuple(each.used.seconds for each in runs[1:])).median,
                    "peak, MB": max(each.used.peak_bytes for each in runs) / 1e6,
                }
            )
            missing = max(abs(each.masks - (info.frame_count or 0)) for each in runs)
            checks.append(Check(f"masks missing of {video.stem}", float(missing), 0))
    return Report(
        name="start",
        title=f"`locater segment` with {checkpoint}, one sentence, overlay, PNG and run lengths",
        timed="seconds from the start of the command, with the files it needs in the system's cache, to the first mask "
        "on the disk and to its end; the highest resident memory of the largest process, in millions of bytes.",
        columns=("frames", "size", "first mask, s", "lowest, s", "all, s", "peak, MB"),
        chart=Bars(
            "The first mask", "seconds", {f"{row['frames']} of {row['size']}": row["first mask, s"] for row in rows}
        ),
        rows=rows,
        checks=checks,
    )


def segmented(video: Path, sentence: str, checkpoint: str, out: Path) -> Started:
    """What `locater segment` takes for a video; one sentence where it fails."""
    watched = out.parent / f"{out.name}.here"  # nothing else is made in it
    watched.mkdir()
    arguments = ["segment", str(video), sentence, "--checkpoint", checkpoint, "--anyway", "--out", str(watched / "out")]
    began = time.perf_counter()
    first = 0.0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(measured, arguments, torch.get_num_threads())
        while not running.done() and not first:
            time.sleep(_LOOK_SECONDS)
            if next(watched.rglob("00000.png"), None) is not None:
                first = time.perf_counter() - began
        used = running.result()
    # Where it came between two looks and the end, it came by the end.
    return Started(first or used.seconds, used, len(list((watched / "out" / "masks").glob("*.png"))))


def beginning(video: Path, path: Path, size: tuple[int, int], frames: int) -> Path:
    """A video's first frames, in a width and height."""
    source = open_source(video)
    with Mp4File(path, source.info.frames_per_second) as file:
        for frame in islice(source.frames(), frames):
            file.write(np.asarray(Image.fromarray(frame.pixels).resize(size)), frame.timestamp)
    return path
