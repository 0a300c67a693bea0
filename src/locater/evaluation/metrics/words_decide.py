"""Right sentences, wrong ones and joined pairs, each scored alone: whether the words decide what is marked."""

from collections.abc import Sequence

from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.summary import Scores, summarise
from locater.evaluation.run.contrasts import CONTRASTS, WRONG

RIGHT = "right"


def rightly_asked(samples: Sequence[SampleScore]) -> list[SampleScore]:
    """The answers to right sentences about single videos: what the scores as a whole are made of."""
    return [sample for sample in samples if sample.info.kind not in (WRONG, *CONTRASTS)]


def answerable(samples: Sequence[SampleScore]) -> list[SampleScore]:
    """The answers that should be good; a wrong sentence's should not."""
    return [sample for sample in samples if sample.info.kind != WRONG]


def words_results(samples: Sequence[SampleScore]) -> dict[str, Scores]:
    """Every score of each group there is, with `j&f_visible` and `empty_share` beside them."""
    groups = {RIGHT: rightly_asked(samples)}
    groups |= {kind: [sample for sample in samples if sample.info.kind == kind] for kind in (WRONG, *CONTRASTS)}
    return {
        name: {**summarise(group), "j&f_visible": _visible_j_and_f(group), "empty_share": _empty_share(group)}
        for name, group in groups.items()
        if group
    }


def _visible_j_and_f(samples: Sequence[SampleScore]) -> float | None:
    """J&F on the frames with something to mark: in a temporal pair, an empty mask is right on all the others."""
    values: list[float] = []
    for sample in samples:
        frames = [frame.counts for frame in sample.frames if frame.counts.truth_area]
        value = mean([(counts.iou + counts.boundary_f) / 2 for counts in frames])
        if value is not None:
            values.append(value)
    return mean(values)


def _empty_share(samples: Sequence[SampleScore]) -> float | None:
    """The share of annotated frames in which nothing is marked."""
    return mean([float(frame.counts.predicted_area == 0) for sample in samples for frame in sample.frames])
