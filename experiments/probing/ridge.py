"""Ridge regression from running sums, for linear probes on more rows than fit in memory."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

STRENGTHS = tuple(10.0**power for power in range(-3, 4))  # on features of deviation 1
FOLDS = 3
Judgements = list[tuple[int, float]]  # a class, and how right something of it was


class Moments:
    """Sums over all rows of 1, x and y, and of their products."""

    def __init__(self) -> None:
        self.count = 0.0
        self.sum: Tensor = torch.zeros(())  # (C + K,)
        self.products: Tensor = torch.zeros(())  # (C + K, C + K)
        self.inputs = 0  # C

    def add(self, x: Tensor, y: Tensor, weight: float = 1.0) -> None:
        """Rows `x` (N, C) with their targets `y` (N, K), each counted `weight` times."""
        both = torch.cat([x, y], dim=1)
        self.count += weight * len(x)
        self.inputs = x.shape[1]
        self.sum = self.sum + weight * both.sum(0, dtype=torch.float64)
        self.products = self.products + weight * (both.T @ both).double()

    def __add__(self, other: "Moments") -> "Moments":
        result = Moments()
        result.count, result.inputs = self.count + other.count, self.inputs
        result.sum, result.products = self.sum + other.sum, self.products + other.products
        return result


@dataclass(frozen=True)
class Probe:
    """A linear map with an offset."""

    weight: Tensor  # (C, K)
    offset: Tensor  # (K,)

    def __call__(self, x: Tensor) -> Tensor:
        """(N, K) from (N, C)."""
        return x @ self.weight + self.offset


def held_out_score(folds: Sequence[Moments], judge: Callable[[Probe, int], Judgements]) -> float:
    """The mean over classes, each fold judged by a probe fitted on the other two; its strength is found without it."""
    judgements: Judgements = []
    for test in range(FOLDS):
        fit, validation = (test + 1) % FOLDS, (test + 2) % FOLDS
        scores = {s: class_mean(judge(_fitted(folds[fit], s), validation)) for s in STRENGTHS}
        strength = max(scores, key=scores.__getitem__)
        judgements += judge(_fitted(folds[fit] + folds[validation], strength), test)
    return class_mean(judgements)


def class_mean(judgements: Judgements) -> float:
    """The mean over classes of each class's mean."""
    by_class: dict[int, list[float]] = {}
    for label, value in judgements:
        by_class.setdefault(label, []).append(value)
    return statistics.fmean(statistics.fmean(values) for values in by_class.values())


def _fitted(moments: Moments, strength: float) -> Probe:
    """The ridge regression on standardised features."""
    mean, c = moments.sum / moments.count, moments.inputs
    covariance = moments.products / moments.count - torch.outer(mean, mean)
    scale = covariance.diagonal()[:c].clamp(min=1e-12).sqrt()
    correlation = covariance[:c, :c] / torch.outer(scale, scale)
    correlation.diagonal().add_(strength)
    weight: Tensor = torch.linalg.solve(correlation, covariance[:c, c:] / scale[:, None]) / scale[:, None]
    return Probe(weight.float(), (mean[c:] - mean[:c] @ weight).float())
