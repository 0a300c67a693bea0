"""The report on the world of positions: how often the meant one of two is chosen, by side and by noun."""

from collections.abc import Mapping, Sequence

from locater.evaluation.metrics.positions import Row, position_results
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.report.sections import Evaluator, Sections
from locater.report.tables import Table, percent
from locater.worlds.composed.position_world import PositionWorld

_TITLES = {
    "all": "all",
    "left": "on the left",
    "right": "on the right",
    "two_pictures": "two pictures of one class",
    "one_picture_twice": "one picture twice",
}
_COLUMNS = {
    "chosen_right": "chosen rightly",
    "marked_right": "and marked (IoU 50)",
    "both_right": "both sides rightly",
    "miou": "mIoU",
    "empty_share": "empty answers",
}


class PositionsEvaluator(Evaluator[PositionWorld]):
    """Which of two things of one class was chosen."""

    def sections(self, samples: Sequence[SampleScore]) -> Sections:
        """`positions` and `nouns`."""
        found = position_results(self.source, samples)
        tables = (
            _table("Whether the meant one of two is chosen", found.rows, _TITLES),
            _table("By noun", found.nouns, {}),
        )
        return Sections({"positions": found.rows, "nouns": found.nouns}, tables)


def _table(title: str, rows: Mapping[str, Row], titles: Mapping[str, str]) -> Table:
    cells = [
        [titles.get(name, name), str(row["questions"]), *(percent(row[column]) for column in _COLUMNS)]
        for name, row in rows.items()
    ]
    return Table(title, ["", "questions", *_COLUMNS.values()], cells)
