"""The report on Ref-DAVIS17: its four annotations in DAVIS's own modes, and their mean."""

from collections.abc import Mapping, Sequence

from locater.evaluation.metrics.davis import DavisSummary, four_annotators, grids_of
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.report.sections import Evaluator, Sections
from locater.records import Dataset
from locater.report.tables import Table, percent


class AnnotatorsEvaluator(Evaluator[Dataset]):
    """DAVIS's scores of all objects of a video, for each annotation."""

    def sections(self, samples: Sequence[SampleScore]) -> Sections:
        """`annotators`."""
        summaries: dict[str, DavisSummary] = {}
        for annotation, grids in grids_of(samples).items():
            summaries[annotation] = DavisSummary()
            for grid in grids:
                summaries[annotation].add(grid)
        found = four_annotators(summaries)
        return Sections({"annotators": found}, (annotators_table(found),))


def annotators_table(annotators: Mapping[str, Mapping[str, Mapping[str, float | int | None]]]) -> Table:
    """One row per annotation (or whatever `annotators` is keyed by), J, F and J&F in every mode."""
    modes = list(next(iter(annotators.values())))
    columns = [f"{name} {mode.replace('_', '-')}" for mode in modes for name in ("J", "F", "J&F")]
    rows = [
        [annotation, *(percent(by_mode[mode][name]) for mode in modes for name in ("j", "f", "j&f"))]
        for annotation, by_mode in annotators.items()
    ]
    return Table("The four annotations, by matching mode", ["", *columns], rows)
