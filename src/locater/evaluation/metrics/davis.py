"""DAVIS's scores of videos with several objects, with fixed and with free identities, and Ref-DAVIS17's mean of four.

The rules are those of the official davis2017 toolkit: a mean over frames, then over all objects of all videos.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from locater.errors import LocaterError
from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.exact_mean import ExactMean, mean
from locater.evaluation.metrics.sample_score import SampleScore

# `semi_supervised` is the toolkit's: the object's number is its identity, the first and last frame are left out.
# `fixed` is the same on all frames: in referring segmentation no frame is given away. `unsupervised` lets the objects
# of a video be renamed to fit best, which forgives two sentences answered with each other's object.
MODES = ("unsupervised", "semi_supervised", "fixed")
MOST_PROPOSALS = 20

Counts = Sequence[FrameCounts]  # one a frame
JAndF = tuple[float, float]


@dataclass(frozen=True)
class ObjectGrid:
    """Every predicted against every true object of a video; at least as many predicted as true ones, padded empty."""

    video: str
    crossed: Sequence[Sequence[Counts]]  # [predicted][true], void pixels left out
    fixed: Sequence[Counts]  # [true]: the predicted object of the same number, void pixels counted
    has_strangers: bool = False  # predicted objects with a number that no true one has


def object_scores(grid: ObjectGrid, mode: str) -> list[JAndF]:
    """J and F of a video's objects, each a mean over frames."""
    if mode == "unsupervised":
        return _matched(grid)
    if grid.has_strangers:
        raise LocaterError(
            f"The masks of {grid.video} hold an object number that its ground truth does not have; "
            "with fixed identities that cannot be scored."
        )
    chosen = [counts[1:-1] for counts in grid.fixed] if mode == "semi_supervised" else list(grid.fixed)
    return [_mean_j_and_f(counts) for counts in chosen if counts]


def _matched(grid: ObjectGrid) -> list[JAndF]:
    if len(grid.crossed) > MOST_PROPOSALS:
        raise LocaterError(
            f"The masks of {grid.video} hold {len(grid.crossed)} objects; DAVIS accepts {MOST_PROPOSALS}."
        )
    means = [[_mean_j_and_f(counts) for counts in row] for row in grid.crossed]
    if not means or not means[0]:
        return []
    quality = np.array([[(j + f) / 2 for j, f in row] for row in means])
    return [means[predicted][true] for predicted, true in zip(*_best_assignment(quality), strict=True)]


def _best_assignment(quality: npt.NDArray[np.float64]) -> tuple[list[int], list[int]]:
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError:
        raise LocaterError(
            "Matching objects needs scipy, which is not installed; run: pip install 'locater[data]'."
        ) from None
    rows, columns = linear_sum_assignment(-quality)
    return rows.tolist(), columns.tolist()


def _mean_j_and_f(counts: Counts) -> JAndF:
    j, f = mean([each.iou for each in counts]), mean([each.boundary_f for each in counts])
    assert j is not None and f is not None
    return j, f


class DavisSummary:
    """J, F and J&F of the videos added so far, in every mode."""

    def __init__(self) -> None:
        self._j = {mode: ExactMean() for mode in MODES}
        self._f = {mode: ExactMean() for mode in MODES}
        self._notes: dict[str, str] = {}  # by mode: why it has no score

    def add(self, grid: ObjectGrid) -> None:
        """Take one video; where it cannot be scored its mode is left without, as a mean of the rest would flatter."""
        for mode in MODES:
            try:
                scores = object_scores(grid, mode)
            except LocaterError as error:
                self._notes.setdefault(mode, str(error))
                continue
            for j, f in scores:
                self._j[mode].add(j)
                self._f[mode].add(f)

    @property
    def notes(self) -> list[str]:
        """Why modes have no score, one sentence each."""
        return list(dict.fromkeys(self._notes.values()))

    def result(self) -> dict[str, dict[str, float | int | None]]:
        """By mode: objects, j, f and j&f."""
        result: dict[str, dict[str, float | int | None]] = {}
        for mode in MODES:
            j, f = (None, None) if mode in self._notes else (self._j[mode].value, self._f[mode].value)
            both = None if j is None or f is None else (j + f) / 2
            result[mode] = {"objects": self._j[mode].count, "j": j, "f": f, "j&f": both}
        return result


def four_annotators(summaries: Mapping[str, DavisSummary]) -> dict[str, dict[str, dict[str, float | int | None]]]:
    """Each annotation's scores by mode, and under `mean` their average: Ref-DAVIS17's own number."""
    result = {annotation: summaries[annotation].result() for annotation in sorted(summaries)}
    average: dict[str, dict[str, float | int | None]] = {}
    for mode in MODES:
        average[mode] = {}
        for name in ("j", "f", "j&f"):
            values = [scores[mode][name] for scores in result.values()]
            known = [value for value in values if value is not None]
            average[mode][name] = mean(known) if len(known) == len(values) else None
    return result | {"mean": average}


def grids_of(samples: Iterable[SampleScore]) -> dict[str, list[ObjectGrid]]:
    """The object grids of a run, by annotation, from questions that know their objects."""
    groups: dict[tuple[str, str], list[SampleScore]] = {}
    for sample in samples:
        if sample.info.annotation and sample.info.object_id is not None:
            groups.setdefault((sample.info.annotation, sample.info.video), []).append(sample)
    result: dict[str, list[ObjectGrid]] = {}
    for annotation, video in sorted(groups):
        objects = sorted(groups[annotation, video], key=lambda sample: sample.info.object_id or "")
        names = [sample.info.object_id or "" for sample in objects]
        grid = ObjectGrid(
            video=video,
            crossed=[[sample.against[name] for name in names] for sample in objects],
            fixed=[[frame.counts for frame in sample.frames] for sample in objects],
        )
        result.setdefault(annotation, []).append(grid)
    return result
