"""Whether a series of measurements goes anywhere: its slope, and how much of that noise alone would give."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

STANDARD_ERRORS = 2.0  # on either side: about 95 %


@dataclass(frozen=True)
class Trend:
    """A straight line through a series; `low` to `high` is where its slope may lie."""

    slope: float  # of the series' unit, for each unit of place
    low: float
    high: float
    mean: float

    @property
    def noise(self) -> float:
        """Half of the interval: a slope as large as this is not told from none."""
        return (self.high - self.low) / 2


def trend(places: npt.ArrayLike, values: npt.ArrayLike) -> Trend:
    """The least-squares line through a series, its interval wider the more neighbours are alike.

    What is measured in a running process moves in steps, so neighbouring residuals go together and count for fewer
    measurements than there are: n (1 - r) / (1 + r) of them, r being the correlation of a residual with the next.
    """
    x, y = np.asarray(places, np.float64), np.asarray(values, np.float64)
    if len(x) < 4:
        raise ValueError("a trend needs four measurements")
    across = x - x.mean()
    slope = float((across * y).sum() / (across**2).sum())
    residuals = y - y.mean() - slope * across
    size = float((residuals**2).sum())
    # What is exactly on a line, or constant, has residuals of rounding alone.
    if size <= 1e-24 * max(1.0, float((y**2).sum())):
        return Trend(slope, slope, slope, float(y.mean()))
    alike = float((residuals[1:] * residuals[:-1]).sum() / size)
    alike = min(max(alike, 0.0), 0.99)
    count = max(len(x) * (1 - alike) / (1 + alike), 3.0)
    error = (size / (count - 2) / float((across**2).sum())) ** 0.5
    return Trend(slope, slope - STANDARD_ERRORS * error, slope + STANDARD_ERRORS * error, float(y.mean()))
