"""The report on A2D-S+ as the paper has it: M, S and T with their average (Table 6), S and T in thirds (Table 7)."""

from collections.abc import Mapping, Sequence
from typing import Any

from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.subsets import SUBSETS, Third, average_of, by_subset, thirds_of
from locater.evaluation.metrics.summary import Scores
from locater.evaluation.report.published import Values, published_rows, published_thirds
from locater.evaluation.report.sections import NO_SECTIONS, Evaluator, Sections
from locater.evaluation.report.titles import TITLES
from locater.records import Dataset
from locater.report.tables import Table, percent, printed_cell

_COLUMNS = ("map_of_precisions", "coco_ap", "oiou", "miou", "j&f", "presence_accuracy")
_PRINTED = {"oiou": "oIoU", "miou": "mIoU", "map_of_precisions": "mAP", "coco_ap": "mAP"}
_THIRDS_COLUMNS = ("", "objects a video", "questions", "mIoU", "the paper's objects a video", "LOCATER's mIoU")

PublishedRows = Mapping[str, Values]
PublishedThirds = Sequence[tuple[float, float]]


class SubsetsEvaluator(Evaluator[Dataset]):
    """The subsets' average, and groups by number of objects, beside the paper's figures where they compare."""

    def sections(self, samples: Sequence[SampleScore]) -> Sections:
        """`average` where all three subsets are there, `thirds` of S and T, and what is published of both.

        Nothing where the samples have other kinds than the subsets: the authors' N is A2D-S itself.
        """
        scores = by_subset(samples)
        if not scores or not scores.keys() <= set(SUBSETS):
            return NO_SECTIONS
        label = self.source.name.rpartition("-")[0]
        figures: dict[str, Any] = {}
        tables: list[Table] = []
        if len(scores) == len(SUBSETS):
            average = average_of(scores)
            published = {subset: published_rows(f"{label}-{subset}") for subset in SUBSETS}
            figures |= {"average": average, "published_subsets": published}
            tables.append(_average_table({**scores, "average": average}, published))
        thirds = thirds_of(samples)
        printed = {subset: published_thirds(f"{label}-{subset}") for subset in thirds}
        figures |= {"thirds": thirds, "published_thirds": printed}
        if thirds:
            tables.append(_thirds_table(thirds, printed))
        return Sections(figures, tuple(tables))


def _average_table(rows: Mapping[str, Scores], published: Mapping[str, PublishedRows]) -> Table:
    """A row for each subset and one for their average, each above the printed ones."""
    cells: list[list[str]] = []
    for subset, scores in rows.items():
        cells.append([subset, *(percent(scores[column]) for column in _COLUMNS)])
        for method, values in published.get(subset, {}).items():
            printed = [printed_cell(values.get(_PRINTED.get(column, ""))) for column in _COLUMNS]
            cells.append([f"{subset}, {method}", *printed])
    return Table("M, S, T and their average", ["", *(TITLES[column] for column in _COLUMNS)], cells)


def _thirds_table(thirds: Mapping[str, Sequence[Third]], published: Mapping[str, PublishedThirds]) -> Table:
    """mIoU by number of objects, beside the printed ones."""
    rows: list[list[str]] = []
    for subset, groups in thirds.items():
        printed: Sequence[tuple[float, float] | None] = published[subset] or [None] * len(groups)
        for group, paper in zip(groups, printed, strict=True):
            row = [subset, f"{group['objects_per_video']:.2f}", str(group["samples"]), percent(group["miou"])]
            rows.append(row + (["-", "-"] if paper is None else [f"{paper[0]:.2f}", f"{paper[1]:.1f}"]))
    return Table("By number of objects, in thirds", _THIRDS_COLUMNS, rows)
