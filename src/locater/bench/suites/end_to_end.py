"""(e) From an mp4 to an mp4 with its masks drawn on, through the real reader, segmenter and writer."""

import hashlib
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.clip import preset_model, sentences_of
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.stages import Stages, TimedSource
from locater.bench.harness.timing import Timing
from locater.inference import chunks as chunks_module
from locater.inference.async_results import AsyncResults
from locater.inference.demo import clip_for
from locater.inference.judging import Judge
from locater.inference.segmenter import Segmenter
from locater.inference.writing import Writing, write_results
from locater.records import FrameMasks, FrameSource, VideoInfo
from locater.video import mp4 as mp4_module
from locater.video.array_source import KeptFrames
from locater.video.overlay import captioned
from locater.video.reader import open_source
from locater.video.writer import open_writers
from locater.video.writers import videos as videos_module
from locater.video.writers.background import drawing_threads
from locater.worlds.shapes import ShapesWorld, video_seed

FRAMES, WIDTH, HEIGHT = 120, 1280, 720
RESIZED_FRAMES = 240  # of the demo clip in another size: chunks of a GPU's length and a rest
MODEL_STAGES = ("global memory", "segment", "second look")
DRAWING_STAGES = ("draw masks", "convert colours")
MASKS, PLAIN, OVERLAPPING = "the masks alone", "one after the other", "overlapping"
READING, ENCODING = "reading alone", "the encoder alone"
_ROUGH = "The weights are random, so the drawn masks are larger and rougher than a trained network's."


@dataclass(frozen=True)
class Asked:
    """A network, a video of a size, and a sentence."""

    segmenter: Segmenter
    video: Path
    sentences: Sequence[str]


@dataclass(frozen=True)
class Ran:
    """One whole run."""

    seconds: float
    masks: str  # a fingerprint of all masks


def run(request: BenchRequest) -> Report:
    """The time of the whole, one after the other and overlapping, of the masks alone, and of each stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asked = _asked(request, folder)
        info = open_source(asked.video).info
        frames = info.frame_count or 0
        ways = {MASKS: masks_alone, PLAIN: one_by_one, OVERLAPPING: overlapping}
        # In turns, so that whatever else the machine does is shared by all.
        rounds = [
            {way: work(asked, open_source(asked.video), folder) for way, work in ways.items()}
            for _ in range(1 + min(request.repeats, 3))
        ]
        written = open_source(folder / "overlay.mp4").info
        stages, timed = _by_stage(asked, request.device, folder)
        alone = _alone(asked, folder, min(request.repeats, 3))
    times = {way: Timing(tuple(each[way].seconds for each in rounds[1:])) for way in ways} | alone
    rows: list[Row] = [
        {"stage": way, **timing.milliseconds(frames), "frames/s": frames / timing.median}
        for way, timing in times.items()
    ]
    for stage, seconds in sorted(stages.seconds.items(), key=lambda item: -item[1]):
        rows.append({"stage": stage, "median_ms": 1e3 * seconds / frames, "share": seconds / timed.seconds})
    runs = [timed, *(ran for each in rounds for ran in each.values())]
    network = request.checkpoint or f"preset {request.preset}"
    return Report(
        name="end_to_end",
        title=f"{network}, {frames} frames of {info.width} x {info.height}, one sentence, {asked.segmenter.precision}",
        timed="milliseconds per frame from opening an H.264 mp4 to a finished mp4 with masks drawn on, both passes "
        f"over the file: {OVERLAPPING}, by the code of `locater segment`; {PLAIN}, the same work on one thread but for "
        f"decoding; and {MASKS}, of frames that were decoded before. {READING.capitalize()} is once through the file, "
        f"and {ENCODING} has all pictures ready in its colours. The stages are of another run of the second, with "
        "timers around the real functions, where the GPU is waited for at every change of stage; each counts its own "
        "time alone.",
        columns=("stage", "median_ms", "lowest_ms", "highest_ms", "share", "frames/s"),
        chart=Bars(
            "Where the time goes", "ms per frame", {row["stage"]: row["median_ms"] for row in rows[len(times) :]}
        ),
        rows=rows,
        checks=_checks(info, written, asked.sentences, runs),
        notes=[*_bound(stages, times, frames), *([] if request.checkpoint else [_ROUGH])],
    )


def _checks(given: VideoInfo, written: VideoInfo, sentences: Sequence[str], runs: Sequence[Ran]) -> list[Check]:
    """That every run had the same masks, and the last one wrote all of the video."""
    missing = abs((written.frame_count or 0) - (given.frame_count or 0))
    sides = captioned(np.zeros((given.height or 0, given.width or 0, 3), np.uint8), sentences).shape  # with the legend
    differing = abs((written.width or 0) - sides[1]) + abs((written.height or 0) - sides[0])
    return [
        Check("frames missing from the written video", float(missing), 0),
        Check("written video's sides", differing, 0),
        Check("runs whose masks differ", len({ran.masks for ran in runs}) - 1, 0),
    ]


def _by_stage(asked: Asked, device: torch.device, folder: Path) -> tuple[Stages, Ran]:
    """One more run, one after the other, with a timer on each stage."""
    stages = Stages(device)
    source = TimedSource(open_source(asked.video), stages, "decode")  # opened before the timers start, as elsewhere
    with stages.around(*_places(asked.segmenter)):
        return stages, one_by_one(asked, source, folder)


def _alone(asked: Asked, folder: Path, repeats: int) -> dict[str, Timing]:
    """What goes on beside the model, by itself."""
    return {
        READING: Timing(tuple(_reading_alone(asked) for _ in range(repeats))),
        ENCODING: Timing(tuple(_encoding_alone(folder) for _ in range(repeats))),
    }


def _reading_alone(asked: Asked) -> float:
    """Seconds to read the video once."""
    source, began = open_source(asked.video), time.perf_counter()
    deque(source.frames(), maxlen=0)
    return time.perf_counter() - began


def _encoding_alone(folder: Path) -> float:
    """Seconds to encode what was written, once more."""
    source = open_source(folder / "overlay.mp4")
    with mp4_module.Mp4File(folder / "again.mp4", source.info.frames_per_second) as file:
        pictures = [(file.converted(frame.pixels), frame.timestamp) for frame in source.frames()]
        began = time.perf_counter()
        for picture, timestamp in pictures:
            file.write_converted(picture, timestamp)
    return time.perf_counter() - began


def _bound(stages: Stages, times: Mapping[str, Timing], frames: int) -> list[str]:
    """What keeps the overlapping way from being faster."""

    def milliseconds(names: Sequence[str]) -> float:
        return 1e3 * sum(stages.seconds.get(name, 0.0) for name in names) / frames

    threads = drawing_threads()
    lanes = {lane: 1e3 * times[lane].median / frames for lane in (READING, MASKS, ENCODING)}
    lanes[f"drawing on {threads} thread{'s' * (threads > 1)}"] = milliseconds(DRAWING_STAGES) / threads
    slowest = max(lanes, key=lambda lane: lanes[lane])
    told = ", ".join(f"{lane} {took:.3g}" for lane, took in lanes.items())
    return [
        f"The slowest of what overlaps is {slowest}; ms per frame: {told}. The model takes "
        f"{milliseconds(MODEL_STAGES):.3g} ms.",
        f"{OVERLAPPING.capitalize()}, the whole takes {times[OVERLAPPING].median / times[MASKS].median:.2f} times the "
        "masks alone. The first pass over a file, which is as long as reading alone, is done before anything is drawn.",
    ]


def _asked(request: BenchRequest, folder: Path) -> Asked:
    """A checkpoint on the demo clip, as people use it; or a preset with random weights on rendered video."""
    if request.checkpoint:
        clip = clip_for(request.checkpoint, folder / "clip.mp4")
        video = clip.path
        if request.size is not None:
            frames = 12 if request.is_quick else RESIZED_FRAMES
            video = resized_video(folder / "resized.mp4", open_source(clip.path), frames, request.size)
        return Asked(Segmenter.from_pretrained(request.checkpoint, request.device), video, clip.expressions[:1])
    frames, size = (12, request.size or (96, 64)) if request.is_quick else (FRAMES, request.size or (WIDTH, HEIGHT))
    video = render_video(folder / "clip.mp4", frames, size, request.device)
    return Asked(Segmenter(preset_model(request), request.device, request.precision), video, sentences_of(1))


def render_video(path: Path, frames: int, size: tuple[int, int], device: torch.device) -> Path:
    """A video of the shapes world of that width and height, continued to the right by its mirror image."""
    width, height = size
    world = ShapesWorld("test", count=1, size=height, frame_count=frames, frames_per_second=24.0, device=device)
    scene = world.video(video_seed("test", "motion", 0))
    with mp4_module.Mp4File(path, 24.0) as file:
        for frame in scene.frames():
            file.write(np.pad(frame.pixels, ((0, 0), (0, width - height), (0, 0)), mode="reflect"), frame.timestamp)
    return path


def resized_video(path: Path, source: FrameSource, frames: int, size: tuple[int, int]) -> Path:
    """A video in another width and height, forwards and backwards by turns until it has so many frames."""
    pictures = [Image.fromarray(frame.pixels) for frame in source.frames()]
    rate = source.info.frames_per_second or 24.0
    with mp4_module.Mp4File(path, rate) as file:
        for index, picture in enumerate(islice(cycle([*pictures, *pictures[-2:0:-1]]), frames)):
            file.write(np.asarray(picture.resize(size, Image.Resampling.BICUBIC)), index / rate)
    return path


def masks_alone(asked: Asked, source: FrameSource, folder: Path) -> Ran:  # noqa: ARG001 - as the other ways
    """The masks of frames that are in memory."""
    kept = KeptFrames(source, sys.maxsize)
    deque(kept.frames(), maxlen=0)
    began, marks = time.perf_counter(), _Fingerprint()
    for result in asked.segmenter.segment(kept, asked.sentences, anyway=True):
        marks.take(result)
    return Ran(time.perf_counter() - began, marks.text)


def one_by_one(asked: Asked, source: FrameSource, folder: Path) -> Ran:
    """Each frame drawn and encoded before the next one is asked for."""
    began, marks = time.perf_counter(), _Fingerprint()
    with open_writers(["overlay"], folder, source.info, asked.sentences) as writers:
        for result in asked.segmenter.segment(source, asked.sentences, anyway=True):
            writers.write(result)
            marks.take(result)
    return Ran(time.perf_counter() - began, marks.text)


def overlapping(asked: Asked, source: FrameSource, folder: Path) -> Ran:
    """What `locater segment --format overlay` does."""
    began, marks = time.perf_counter(), _Fingerprint()
    writing = Writing(("overlay",), anyway=True)
    write_results(asked.segmenter, source, asked.sentences, writing, folder, on_result=marks.take)
    return Ran(time.perf_counter() - began, marks.text)


class _Fingerprint:
    """Of all masks of a video."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def take(self, result: FrameMasks) -> None:
        self._hash.update(np.packbits(result.masks).tobytes())

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


def _places(segmenter: Segmenter) -> list[tuple[object, str, str]]:
    """Functions by owner and name, and the stage that each belongs to."""
    return [
        (chunks_module, "frames_to_tensor", "resize frames"),
        (segmenter.chunks, "write_global", "global memory"),
        (segmenter.chunks, "segment", "segment"),
        (segmenter.chunks, "in_own_pixels", "segment"),
        (Judge, "_looked", "second look"),
        (AsyncResults, "of", "masks to the video's size and back"),
        (AsyncResults, "results", "masks to the video's size and back"),
        (videos_module, "draw", "draw masks"),
        (videos_module, "captioned", "draw masks"),
        (mp4_module.Mp4File, "converted", "convert colours"),
        (mp4_module.Mp4File, "write_converted", "write mp4"),
        (mp4_module.Mp4File, "__exit__", "write mp4"),
    ]
