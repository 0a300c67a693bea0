"""How long work takes, with the GPU's work finished on both sides of the clock."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

SHORTEST_SECONDS = 0.02  # of one measurement: work that is done sooner is done several times in a row
LONG_SECONDS = 5.0  # work that takes longer is measured once, after one warm-up
ROW_SECONDS = 20.0  # what all measurements of one row may take together, three of them in any case


@dataclass(frozen=True)
class Timing:
    """The seconds of each measurement, warm-up excluded."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one, in seconds."""
        return statistics.median(self.seconds)

    def milliseconds(self, share: float = 1) -> dict[str, float]:
        """Median, lowest and highest, each divided by `share` (the frames, for milliseconds per frame)."""
        scale = 1e3 / share
        return {
            "median_ms": self.median * scale,
            "lowest_ms": min(self.seconds) * scale,
            "highest_ms": max(self.seconds) * scale,
        }


def measure(work: Callable[[], object], device: torch.device, repeats: int, warm_ups: int = 2) -> Timing:
    """The seconds of one run of `work`, measured `repeats` times after `warm_ups` that do not count."""
    first = _seconds(work, device, 1)
    if first > LONG_SECONDS:
        return Timing((_seconds(work, device, 1),))
    usual = min([first, *(_seconds(work, device, 1) for _ in range(warm_ups - 1))])
    in_a_row = max(1, math.ceil(SHORTEST_SECONDS / max(usual, 1e-6)))
    count = min(max(1, repeats), max(3, int(ROW_SECONDS / max(usual, SHORTEST_SECONDS))))
    return Timing(tuple(_seconds(work, device, in_a_row) for _ in range(count)))


def synchronise(device: torch.device) -> None:
    """Waits until the GPU has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _seconds(work: Callable[[], object], device: torch.device, times: int) -> float:
    synchronise(device)
    began = time.perf_counter()
    for _ in range(times):
        work()
    synchronise(device)
    return (time.perf_counter() - began) / times
