"""A2D-S+ as the paper reports it: M, S and T, their average (Table 6), and S and T by number of objects (Table 7)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.summary import Scores, summarise
from locater.evaluation.report.published import published_rows, published_thirds

SUBSETS = ("M", "S", "T")
_COUNTED = ("samples", "videos", "frames")  # numbers that are no scores


def subset_results(dataset_name: str, samples: Sequence[SampleScore], by_kind: Mapping[str, Scores]) -> dict[str, Any]:
    """`average` of the three subsets, and `thirds` of S and T, with the paper's figures where they compare.

    Nothing where the kinds of the samples are not A2D-S+'s subsets.
    """
    if not by_kind or not set(by_kind) <= set(SUBSETS):
        return {}
    label = dataset_name.rpartition("-")[0]
    found: dict[str, Any] = {}
    if len(by_kind) == len(SUBSETS):
        found["average"] = _average(list(by_kind.values()))
        found["published_subsets"] = {subset: published_rows(f"{label}-{subset}") for subset in SUBSETS}
    thirds = {
        subset: _thirds([sample for sample in samples if sample.info.kind == subset])
        for subset in by_kind
        if subset != "M"
    }
    found["thirds"] = {subset: groups for subset, groups in thirds.items() if groups}
    found["published_thirds"] = {subset: published_thirds(f"{label}-{subset}") for subset in found["thirds"]}
    return found


def _average(of_subsets: Sequence[Scores]) -> Scores:
    """The mean of each score, every subset weighing the same, as in the paper's ablations."""
    average: Scores = {}
    for name in of_subsets[0]:
        values = [scores[name] for scores in of_subsets]
        known = [float(value) for value in values if value is not None]
        if name not in _COUNTED:
            average[name] = mean(known) if len(known) == len(values) else None
    return average


def _thirds(samples: Sequence[SampleScore]) -> list[dict[str, Any]]:
    """Three groups of equal size by number of objects, fewest first.

    The paper does not say how it clusters. Its groups' means (2.40, 4.11, 8.56 in S) have the mean of all (5.02) as
    their plain average, so the groups must be equally large.
    """
    known = [(sample.info.object_count, sample.info.key, sample) for sample in samples if sample.info.object_count]
    ordered = [sample for _, _, sample in sorted(known, key=lambda each: each[:2])]
    if len(ordered) < 3:
        return []
    cuts = [len(ordered) * part // 3 for part in range(4)]
    groups = [ordered[start:end] for start, end in pairwise(cuts)]
    return [
        {"objects_per_video": mean([float(each.info.object_count or 0) for each in group]), **summarise(group)}
        for group in groups
    ]
