"""How much a predicted mask changes from frame to frame where the true one does not: 0 is steady, 1 is on and off."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import FrameScore


@dataclass(frozen=True)
class Flicker:
    """Of one question, each in [0, 1]."""

    overlap: float  # mean change of the IoU with the truth
    area: float  # mean mismatch of the area's change and the true area's, in doublings, at most one

    @property
    def value(self) -> float:
        """The mean of both."""
        return (self.overlap + self.area) / 2


def flicker(frames: Sequence[FrameScore]) -> Flicker | None:
    """The flicker over frames in a row that are both annotated; None where none of these has a predicted pixel.

    Two empty masks in a row are left out: whoever marks nothing is not steady, but silent.
    """
    pairs = [
        (one.counts, two.counts)
        for one, two in pairwise(frames)
        if two.index == one.index + 1 and (one.counts.predicted_area or two.counts.predicted_area)
    ]
    overlap = mean([abs(two.iou - one.iou) for one, two in pairs])
    area = mean([_mismatch(one, two) for one, two in pairs])
    return None if overlap is None or area is None else Flicker(overlap, area)


def _mismatch(one: FrameCounts, two: FrameCounts) -> float:
    predicted = _doublings(one.predicted_area, two.predicted_area)
    true = _doublings(one.truth_area, two.truth_area)
    if predicted == true:  # both may be infinite: a thing that vanishes, and its mask with it
        return 0.0
    return min(abs(predicted - true), 1.0)


def _doublings(before: int, after: int) -> float:
    """How many times an area has doubled, negative where it shrank; infinite where it appears or vanishes."""
    if before == after:
        return 0.0
    if not before or not after:
        return math.inf if after else -math.inf
    return math.log2(after / before)
