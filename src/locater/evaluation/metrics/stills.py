"""Single pictures, by kind of question: is a noun found, an absent thing left alone, the meant one chosen?"""

from collections.abc import Sequence

import numpy as np

from locater.datasets.coco_val import ABSENT_KINDS, CHOICE_KINDS, KINDS, CocoVal
from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.summary import Scores
from locater.records import Mask

MARKED = 0.5  # IoU above which a thing is marked


def still_results(dataset: CocoVal, samples: Sequence[SampleScore]) -> dict[str, Scores]:
    """A row per kind that was asked: `miou`, `p@0.5`, `empty_share`, and `chosen_right` where one of several is meant.

    Of an absent thing only `empty_share` is told: it should be 1, and there is no mask to overlap with.
    """
    groups = {kind: [sample for sample in samples if sample.info.kind == kind] for kind in KINDS}
    return {kind: _row(dataset, kind, group) for kind, group in groups.items() if group}


def _row(dataset: CocoVal, kind: str, samples: Sequence[SampleScore]) -> Scores:
    counts = [sample.frames[0].counts for sample in samples]
    is_absent = kind in ABSENT_KINDS
    chosen = [float(chooses_rightly(sample, dataset.others(sample.info))) for sample in samples if kind in CHOICE_KINDS]
    return {
        "questions": len(samples),
        "miou": None if is_absent else mean([each.iou for each in counts]),
        "p@0.5": None if is_absent else mean([float(each.iou > MARKED) for each in counts]),
        "empty_share": mean([float(each.predicted_area == 0) for each in counts]),
        "chosen_right": mean(chosen),
    }


def chooses_rightly(sample: SampleScore, others: Sequence[Mask]) -> bool:
    """Whether the answer overlaps most with the one that is meant; an empty one chooses none, a tie neither."""
    predicted = sample.predictions[sample.frames[0].index].mask()
    meant = sample.frames[0].counts
    for other in others:
        intersection = int(np.count_nonzero(predicted & other))
        union = int(np.count_nonzero(predicted | other))
        if meant.intersection * union <= intersection * meant.union:  # in whole numbers
            return False
    return meant.intersection > 0
