"""Very many frames through one state: memory flat, outputs finite, the cells' norms without drift."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from locater.bench.harness.chart import Lines
from locater.bench.harness.checks import Check
from locater.bench.harness.clip import sentences_of
from locater.bench.harness.peaks import can_tell_process_peak, resident_bytes
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.trend import Trend, trend
from locater.config import preset
from locater.errors import LocaterError
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.records import Frame, FrameResult, VideoInfo

NETWORK = "tiny"  # of the presets: ends in minutes on two CPU cores
BLOCK, QUICK_BLOCK = 1_000, 20  # frames that a median is of
WARM_UP = 0.1  # of the frames: libraries take what they keep, caches fill, the memories find their size
LEAK = 16.0  # bytes per frame: no object is smaller, so less than one is left behind by a frame
LEAK_SEEN = 64.0  # bytes per frame that the measurement must be fine enough to see
DRIFT = 0.01  # of a norm over all frames, beside its noise
_SIDE, _PLACES = 96, 160


class WanderingFrames:
    """A stream that never comes to the same frame twice in a row: a window that wanders over one large picture."""

    is_repeatable = False

    def __init__(self, count: int) -> None:
        self.info = VideoInfo("generated", _SIDE, _SIDE, None, 24.0, None)
        self._count = count
        coarse = np.random.default_rng(0).integers(0, 256, (12, 12, 3), dtype=np.uint8)
        self._picture = np.kron(coarse, np.ones(((_SIDE + _PLACES) // 12 + 1,) * 2 + (1,), np.uint8))

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..."""
        for index in range(start, self._count, every):
            # Two periods without a common divisor: 159 * 157 frames until the path begins again.
            top, left = abs(index % 318 - 159), abs(index % 314 - 157)
            yield Frame(index, index / 24, self._picture[top : top + _SIDE, left : left + _SIDE])


@dataclass
class Watched:
    """A median of each block of frames, of the resident memory and of each memory's norm."""

    block: int
    resident: list[float] = field(default_factory=list)
    norms: dict[str, list[float]] = field(default_factory=lambda: {"global": [], "local": []})
    not_finite: int = 0
    state_bytes: set[int] = field(default_factory=set)
    _now: dict[str, list[float]] = field(default_factory=lambda: {"resident": [], "global": [], "local": []})

    def look(self, result: FrameResult, count: int) -> None:
        """Take one frame in; `count` frames have come."""
        state = result.state
        self.state_bytes.add(state.nbytes)
        self._now["resident"].append(resident_bytes())
        for name, cells in (("global", state.global_cells), ("local", state.local_cells)):
            self._now[name].append(float(cells.float().norm()) if cells.numel() else 0.0)
        numbers = [weight for words in result.word_attention for _, weight in words]
        arrays = [np.asarray(result.soft_masks, np.float32), np.asarray(numbers, np.float32)]
        is_finite = all(np.isfinite(each).all() for each in arrays)
        self.not_finite += not (is_finite and all(bool(each.isfinite().all()) for each in state.tensors.values()))
        if count % self.block == 0:
            self.resident.append(median(self._now["resident"]))
            for name, found in self.norms.items():
                found.append(median(self._now[name]))
            self._now = {name: [] for name in self._now}


def run(request: BenchRequest) -> Report:
    """Stream so many frames through one state of the real segmenter, and look at every one of them."""
    if not can_tell_process_peak():
        raise LocaterError("The soak reads its resident memory from Linux; run it there.")
    block = QUICK_BLOCK if request.is_quick else BLOCK
    if request.frames < 10 * block:
        raise LocaterError(f"The soak needs at least {10 * block:,} frames for its slopes; give more --frames.")
    segmenter, network = _segmenter(request)
    watched, began = Watched(block), time.perf_counter()
    stream = segmenter.segment(WanderingFrames(request.frames), sentences_of(1), soft=True, anyway=True)
    for count, result in enumerate(stream, start=1):
        watched.look(result, count)
    seconds = time.perf_counter() - began
    return _report(request, watched, f"{network} at {segmenter.config.image_size} pixels", seconds)


def _segmenter(request: BenchRequest) -> tuple[Segmenter, str]:
    if request.checkpoint is not None:
        found = Segmenter.from_pretrained(request.checkpoint, request.device, request.precision)
        return found, f"checkpoint {request.checkpoint}"
    # Written as Eq. 5 and 6 say: the rule `compete` ends in a norm, so that its cells could not drift.
    changes = {"text": {"vocabulary": sorted(sentences_of(1)[0].split())}, "memory": {"write": "paper"}}
    model = build(preset(NETWORK, changes), seed=0).eval()
    return Segmenter(model, request.device, request.precision), f"preset {NETWORK}, Eq. 5's write, random weights"


def _report(request: BenchRequest, watched: Watched, network: str, seconds: float) -> Report:
    skipped = max(1, round(WARM_UP * len(watched.resident)))
    places = [watched.block * (place + 0.5) for place in range(len(watched.resident))][skipped:]
    resident = trend(places, watched.resident[skipped:])
    norms = {name: trend(places, found[skipped:]) for name, found in watched.norms.items() if any(found)}
    rows: list[Row] = [_row("resident memory, bytes", resident, request.frames)]
    rows += [_row(f"norm of the {name} cells", found, request.frames) for name, found in norms.items()]
    checks = [
        Check("frames with an output or a cell that is no number", watched.not_finite, 0),
        Check("sizes of the state, bytes, beside the first", len(watched.state_bytes) - 1, 0),
        *(() if request.is_quick else _memory_checks(resident)),  # libraries are still taking what they keep
        *(
            Check(
                f"drift of the {name} cells' norm beyond its noise, of the norm", _drift(found, request.frames), DRIFT
            )
            for name, found in norms.items()
        ),
    ]
    points = [(place, each / 1e6) for place, each in zip(places, watched.resident[skipped:], strict=True)]
    return Report(
        name="soak",
        title=f"{request.frames:,} frames through one state, {network}, {request.precision}, live, one sentence",
        timed=f"medians of {watched.block:,} frames each, the first {skipped} left out as warm-up; slopes by least "
        "squares, two standard errors on either side, widened for neighbours that are alike.",
        columns=("what", "mean", "slope per 1,000 frames", "lowest", "highest", "over all frames"),
        chart=Lines("Resident memory while frames stream through one state", "frames", "MB", {"resident": points}),
        rows=rows,
        checks=checks,
        notes=[
            f"{1e3 * seconds / request.frames:.2f} ms per frame with everything, {seconds:.0f} s in all.",
            f"The state has {max(watched.state_bytes):,} bytes.",
        ],
    )


def _memory_checks(resident: Trend) -> tuple[Check, Check]:
    """That memory does not grow, and that the measurement would have seen it."""
    return (
        Check("resident memory's slope beyond its noise, bytes per frame", max(0.0, resident.low), LEAK),
        Check("noise of that slope, bytes per frame", resident.noise, LEAK_SEEN),
    )


def _row(what: str, found: Trend, frames: int) -> Row:
    return {
        "what": what,
        "mean": found.mean,
        "slope per 1,000 frames": 1e3 * found.slope,
        "lowest": 1e3 * found.low,
        "highest": 1e3 * found.high,
        "over all frames": found.slope * frames,
    }


def _drift(found: Trend, frames: int) -> float:
    """How far a norm goes over all frames, as a part of itself, that noise does not explain."""
    beyond = max(0.0, found.low, -found.high)
    return beyond * frames / found.mean
