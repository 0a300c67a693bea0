"""What the batch engine costs: `locater batch` against `locater segment` on the same videos and cores."""

import os
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.processes import Used, measured
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.records import Pixels
from locater.video.mp4 import Mp4File
from locater.worlds.shapes import ShapesWorld, video_seed

VIDEOS, SECONDS, RATE, SIDE = 4, 60, 6, 256
ROUNDS = 3  # at most; all ways take turns, so that a busy machine is busy for each
AIM = 0.10  # of the plain loop's time that the engine may cost
SENTENCE = "the red circle"
PLAIN, ONE, MANY = "segment, one process", "batch, one worker", "batch, a worker per core"


@dataclass(frozen=True)
class Way:
    """One way to segment all videos."""

    arguments: tuple[str, ...]
    threads: int


def run(request: BenchRequest) -> Report:
    """Seconds of each way, and how much more the engine takes than the plain loop."""
    cores = os.cpu_count() or 1
    videos, seconds = (2, 1) if request.is_quick else (VIDEOS, SECONDS)
    taken: dict[str, list[Used]] = {PLAIN: [], ONE: [], MANY: []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clips = make_videos(folder, videos, seconds)
        rounds = 1 if request.is_quick else min(request.repeats, ROUNDS)
        for number in range(rounds):
            out = folder / str(number)
            ways = _ways(request, clips, out, cores)
            for way in ways if number % 2 == 0 else reversed(ways):  # no way is always the first
                taken[way].append(measured(ways[way].arguments, ways[way].threads))
            differing = _differing(out / "plain", out / "one", clips)
    return Report(
        name="batch",
        title=f"checkpoint {request.trained}, {videos} videos of {seconds} s ({seconds * RATE} frames of "
        f"{SIDE} x {SIDE}), one sentence, {cores} cores",
        timed="a whole command from its start to its end, Python, PyTorch, Ray and the network's loading included; CPU "
        "seconds are of the command and all its descendants. Ways take turns; medians of "
        f"{len(taken[PLAIN])} rounds.",
        columns=("way", "seconds", "cpu_seconds", "over plain", "cpu over plain", "frames/s"),
        chart=Bars("All videos", "seconds", {way: _median(taken[way], "seconds") for way in taken}),
        rows=rows_of(taken, videos * seconds * RATE),
        checks=[Check("videos whose masks differ between the plain loop and one worker", float(differing), 0)],
        notes=[f"Aim: at most {AIM:.0%} over the plain loop."],
    )


def make_videos(folder: Path, count: int, seconds: int) -> list[Path]:
    """Videos of the shapes world, two seconds of it again and again, each from another moment on."""
    world = ShapesWorld("test", count=1, size=SIDE, frame_count=2 * RATE, frames_per_second=float(RATE))
    pictures: list[Pixels] = [np.array(frame.pixels) for frame in world.video(video_seed("test", "motion", 0)).frames()]
    paths = [folder / f"video{number}.mp4" for number in range(count)]
    for shift, path in enumerate(paths):
        with Mp4File(path, float(RATE)) as file:
            for index in range(seconds * RATE):
                file.write(pictures[(index + 3 * shift) % len(pictures)], index / RATE)
    rows = [f"{path.name},{SENTENCE}" for path in paths]
    (folder / "list.csv").write_text("\n".join(["video,sentence", *rows]) + "\n", "utf-8")
    return paths


def rows_of(taken: Mapping[str, Sequence[Used]], frames: int) -> list[Row]:
    """A row per way: medians, and the median of what it took over the plain loop of the same round."""
    rows: list[Row] = []
    for way, used in taken.items():
        pairs = list(zip(used, taken[PLAIN], strict=True))
        row: Row = {"way": way, "seconds": _median(used, "seconds"), "cpu_seconds": _median(used, "cpu_seconds")}
        if way != PLAIN:
            row["over plain"] = statistics.median(own.seconds / plain.seconds - 1 for own, plain in pairs)
            row["cpu over plain"] = statistics.median(own.cpu_seconds / plain.cpu_seconds - 1 for own, plain in pairs)
        rows.append(row | {"frames/s": frames / row["seconds"]})
    return rows


def _ways(request: BenchRequest, clips: Sequence[Path], out: Path, cores: int) -> dict[str, Way]:
    common = ("--checkpoint", request.trained, "--precision", request.precision)
    plain = ("segment", *map(str, clips), "--sentence", SENTENCE, "--out", str(out / "plain"), *common)
    batch = ("batch", str(clips[0].parent / "list.csv"), *common)
    return {
        PLAIN: Way((*plain, "--device", "cpu"), cores),
        ONE: Way((*batch, "--out", str(out / "one"), "--workers", "1", "--cpus", str(cores), "--gpus", "0"), cores),
        MANY: Way((*batch, "--out", str(out / "many"), "--workers", str(cores), "--cpus", "1", "--gpus", "0"), 1),
    }


def _differing(one: Path, other: Path, clips: Sequence[Path]) -> int:
    """How many videos have other masks; threads divide sums, so only equally many threads give equal masks."""
    names = [f"{clip.stem}/masks.json" for clip in clips]
    return sum((one / name).read_bytes() != (other / name).read_bytes() for name in names)


def _median(used: Sequence[Used], what: str) -> float:
    return statistics.median(float(getattr(each, what)) for each in used)
