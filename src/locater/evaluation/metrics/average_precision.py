"""COCO's average precision over scored masks, classes ignored: pycocotools' `segm` with `useCats = 0`.

Written from its definition and checked against it: greedy matching in the order of the scores, ten thresholds, the
precision made monotone and read off at 101 recalls. What matters for a tie is kept too: equal scores stay in the order
of the sorted image names, and of the list within an image.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# As pycocotools makes them: linspace's roundings decide whether an overlap of exactly 0.6 is one.
THRESHOLDS: Floats = np.linspace(0.5, 0.95, 10)
_RECALLS: Floats = np.linspace(0.0, 1.0, 101)
_MOST_DETECTIONS = 100  # an image
_AREAS = {"all": (0.0, 1e10), "small": (0.0, 32.0**2), "medium": (32.0**2, 96.0**2), "large": (96.0**2, 1e10)}


@dataclass(frozen=True)
class ScoredImage:
    """One image's detections (D) and objects (G), before matching."""

    scores: Floats  # (D,)
    overlaps: Floats  # (D, G): IoU; with a crowd, intersection over the detection's area
    areas: Floats  # (D,)
    truth_areas: Floats  # (G,)
    is_crowd: Flags  # (G,): matches any number of detections and counts for none


@dataclass(frozen=True)
class _Matches:
    scores: Floats  # (D,), falling
    is_matched: Flags  # (10, D)
    is_ignored: Flags  # (10, D)
    objects: int  # those that count


class AveragePrecision:
    """The average precision of the images added so far, in whatever order and split they came."""

    def __init__(self) -> None:
        self._matches: dict[Hashable, dict[str, _Matches]] = {}

    def add(self, name: str | int | tuple[str, int], image: ScoredImage) -> None:
        """Take one image; its name must be new and decides the order among equal scores."""
        if name in self._matches:
            raise ValueError(f"the image {name} is added twice")
        self._matches[name] = {area: _match(image, *bounds) for area, bounds in _AREAS.items()}

    def result(self) -> dict[str, float | None]:
        """`ap`, at one threshold `ap50` and `ap75`, by the object's area `ap_small`, ...; None where nothing counts."""
        ordered = [self._matches[name] for name in sorted(self._matches)]  # type: ignore[type-var]
        tables = {area: _precision([each[area] for each in ordered]) for area in _AREAS}
        whole = tables["all"]
        result = {
            "ap": None if whole is None else float(np.mean(whole)),
            "ap50": None if whole is None else float(np.mean(whole[0])),
            "ap75": None if whole is None else float(np.mean(whole[5])),
        }
        for area in ("small", "medium", "large"):
            table = tables[area]
            result[f"ap_{area}"] = None if table is None else float(np.mean(table))
        return result


def single(score: float, overlap: float, area: int, truth_area: int) -> ScoredImage:
    """The image of a network that gives one mask a sentence.

    An empty mask is no detection, an empty truth no object: COCO has neither.
    """
    some, any_truth = int(area > 0), int(truth_area > 0)
    return ScoredImage(
        scores=np.full(some, score),
        overlaps=np.full((some, any_truth), overlap),
        areas=np.full(some, float(area)),
        truth_areas=np.full(any_truth, float(truth_area)),
        is_crowd=np.zeros(any_truth, dtype=np.bool_),
    )


def _match(image: ScoredImage, least: float, most: float) -> _Matches:
    """Detections, best first, each to the free object it overlaps most; objects of another size count for nothing."""
    is_other = image.is_crowd | (image.truth_areas < least) | (image.truth_areas > most)
    objects = np.argsort(is_other, kind="mergesort")  # those that count come first
    ranked = np.argsort(-image.scores, kind="mergesort")[:_MOST_DETECTIONS]
    overlaps = image.overlaps[ranked][:, objects]
    matched = np.full((len(THRESHOLDS), len(ranked)), -1)
    if (
        overlaps.size and overlaps.shape[1] == 1 and not image.is_crowd.any()
    ):  # one object per sentence: the first that fits has it
        fits = overlaps[:, 0] >= THRESHOLDS[:, None]
        rows = np.flatnonzero(fits.any(axis=1))
        matched[rows, fits[rows].argmax(axis=1)] = 0
    else:
        for row, threshold in enumerate(THRESHOLDS):
            matched[row] = _match_at(threshold, overlaps, image.is_crowd[objects], is_other[objects])
    is_matched = matched >= 0
    is_ignored = np.zeros_like(is_matched)
    if len(objects):
        is_ignored = is_matched & is_other[objects][matched]
    areas = image.areas[ranked]
    is_ignored |= ~is_matched & ((areas < least) | (areas > most))
    return _Matches(image.scores[ranked], is_matched, is_ignored, int(np.count_nonzero(~is_other)))


def _match_at(threshold: float, overlaps: Floats, is_crowd: Flags, is_other: Flags) -> Sequence[int]:
    """Each detection's object, or -1."""
    is_taken = np.zeros(overlaps.shape[1], dtype=np.bool_)
    result = []
    for row in overlaps:
        best, best_overlap = -1, threshold
        for place, overlap in enumerate(row):
            if is_taken[place] and not is_crowd[place]:
                continue
            if best >= 0 and not is_other[best] and is_other[place]:
                break  # an object that counts is preferred to any that does not
            if overlap >= best_overlap:
                best, best_overlap = place, overlap
        if best >= 0:
            is_taken[best] = True
        result.append(best)
    return result


def _precision(images: Sequence[_Matches]) -> Floats | None:
    """Precision at every threshold and recall, (10, 101); None without any object that counts."""
    objects = sum(each.objects for each in images)
    if objects == 0:
        return None
    order = np.argsort(-np.concatenate([each.scores for each in images]), kind="mergesort")
    is_matched = np.concatenate([each.is_matched for each in images], axis=1)[:, order]
    counts = ~np.concatenate([each.is_ignored for each in images], axis=1)[:, order]
    hits = np.cumsum(is_matched & counts, axis=1, dtype=np.float64)
    misses = np.cumsum(~is_matched & counts, axis=1, dtype=np.float64)
    table = np.zeros((len(THRESHOLDS), len(_RECALLS)))
    for row, (hit, miss) in enumerate(zip(hits, misses, strict=True)):
        precision = hit / (miss + hit + np.spacing(1))
        precision = np.maximum.accumulate(precision[::-1])[::-1]
        places = np.searchsorted(hit / objects, _RECALLS, side="left")
        reached = places < len(precision)
        table[row, reached] = precision[places[reached]]
    return table
