"""The report on single pictures: each kind of question by itself."""

from collections.abc import Sequence

from locater.datasets.coco_val import ABSENT_KINDS, CocoVal
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.stills import still_results
from locater.evaluation.report.sections import Evaluator, Sections
from locater.report.tables import Table, percent

_ROWS = {
    "noun": "the only one of its class, by its noun",
    "phrase": "the same, by a phrase from a caption",
    "place": "the one on the left or right of two",
    "crowd": "the leftmost or rightmost of several people",
    "absent_kin": "nothing: near kin of what is there",
    "absent_far": "nothing: another kind of thing",
}
_COLUMNS = {"miou": "mIoU", "p@0.5": "P@0.5", "empty_share": "left empty", "chosen_right": "chosen rightly"}


class StillsEvaluator(Evaluator[CocoVal]):
    """Scores what is there; what is not there is scored by how often it is left empty."""

    def counted(self, samples: Sequence[SampleScore]) -> Sequence[SampleScore]:
        """Those that mean something: an empty answer to the others would count as a perfect mask."""
        return [sample for sample in samples if sample.info.kind not in ABSENT_KINDS]

    def sections(self, samples: Sequence[SampleScore]) -> Sections:
        """`stills`: a row per kind of question."""
        found = still_results(self.source, samples)
        rows = [
            [_ROWS[kind], str(row["questions"]), *(percent(row[column]) for column in _COLUMNS)]
            for kind, row in found.items()
        ]
        table = Table("By kind of question", ["", "questions", *_COLUMNS.values()], rows)
        return Sections({"stills": found}, (table,))
