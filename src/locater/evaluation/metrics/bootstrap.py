"""How sure a difference between two systems is: a paired bootstrap over videos.

Questions to one video share its difficulty, so whole videos are drawn (Efron and Tibshirani, 1993, section 8).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000
COVERED = 0.95


@dataclass(frozen=True)
class Interval:
    """The mean difference, where it lies in 95 of 100 resamples, and the share of them in which it is above zero."""

    mean: float
    low: float
    high: float
    above_zero: float

    @property
    def is_sure(self) -> bool:
        """Whether zero lies outside."""
        return self.low > 0 or self.high < 0


def paired_interval(differences: Mapping[str, Sequence[float]], seed: int = 0) -> Interval | None:
    """The interval of the mean over all questions, whose differences are given by video; None without two videos."""
    videos = [values for values in differences.values() if values]
    if len(videos) < 2:
        return None
    sums, counts = np.array([sum(each) for each in videos]), np.array([len(each) for each in videos])
    drawn = np.random.default_rng(seed).integers(len(videos), size=(RESAMPLES, len(videos)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, [(1 - COVERED) / 2, (1 + COVERED) / 2])
    return Interval(float(sums.sum() / counts.sum()), float(low), float(high), float((means > 0).mean()))
