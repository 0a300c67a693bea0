"""A2D-S+ as the paper scores it: M, S and T, their average (Table 6), and S and T by number of objects (Table 7)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.summary import Scores, summarise

SUBSETS = ("M", "S", "T")
_COUNTED = ("samples", "videos", "frames")  # numbers that are no scores

Third = Scores  # with `objects_per_video`


def by_subset(samples: Sequence[SampleScore]) -> dict[str, Scores]:
    """The scores of each kind there is, in the order of their names."""
    kinds = sorted({sample.info.kind for sample in samples if sample.info.kind})
    return {kind: summarise(sample for sample in samples if sample.info.kind == kind) for kind in kinds}


def average_of(subsets: Mapping[str, Scores]) -> Scores:
    """The mean of each score, every subset weighing the same, as in the paper's ablations."""
    average: Scores = {}
    for name in next(iter(subsets.values())):
        values = [scores[name] for scores in subsets.values()]
        known = [float(value) for value in values if value is not None]
        if name not in _COUNTED:
            average[name] = mean(known) if len(known) == len(values) else None
    return average


def thirds_of(samples: Sequence[SampleScore]) -> dict[str, list[Third]]:
    """S and T, those of them that are there, each in three groups by number of objects, fewest first."""
    found = {
        subset: _thirds([sample for sample in samples if sample.info.kind == subset])
        for subset in SUBSETS
        if subset != "M"
    }
    return {subset: groups for subset, groups in found.items() if groups}


def _thirds(samples: Sequence[SampleScore]) -> list[Third]:
    """Three groups of equal size.

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
