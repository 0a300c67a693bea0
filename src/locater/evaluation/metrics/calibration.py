"""How far a confidence can be trusted: of what is said to be right in 80 % of cases, 80 % should be."""

from collections.abc import Sequence
from dataclasses import dataclass

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Answers whose confidences lie near each other."""

    count: int
    confidence: float  # their mean
    right: float  # share of them that were right


@dataclass(frozen=True)
class Calibration:
    """A reliability diagram's numbers."""

    bins: tuple[Bin, ...]  # those that hold answers, the least confident first

    @property
    def count(self) -> int:
        """How many answers there were."""
        return sum(each.count for each in self.bins)

    @property
    def error(self) -> float:
        """The expected calibration error (Guo et al., 2017): how far confidence and truth lie apart, on average."""
        return sum(each.count * abs(each.confidence - each.right) for each in self.bins) / max(self.count, 1)


def calibration(confidences: Sequence[float], is_right: Sequence[bool]) -> Calibration:
    """The calibration of answers, in ten bins of equal width."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for confidence, right in zip(confidences, is_right, strict=True):
        bins[min(int(confidence * BINS), BINS - 1)].append((confidence, right))
    return Calibration(
        tuple(
            Bin(len(some), sum(each[0] for each in some) / len(some), sum(each[1] for each in some) / len(some))
            for some in bins
            if some
        )
    )
