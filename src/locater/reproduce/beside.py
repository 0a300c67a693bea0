"""A table of ours beside the printed one: every published row, ours beneath the row it answers, and the orders."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from locater.published.tables import PrintedTable, printed_table
from locater.report.tables import Table
from locater.reproduce.pieces import Figures
from locater.reproduce.systems import Cell, Path, ScoredTable

OURS = "ours"
FoundCells = Mapping[Cell, Sequence[float]]  # per cent, one value per seed


@dataclass(frozen=True)
class Order:
    """How many pairs of one score are in the paper's order."""

    what: str
    agreeing: int
    surely: int  # of them, those whose means differ by more than either's deviation over seeds
    pairs: int
    against: tuple[str, ...]  # pairs in the other order by more than that

    def sentence(self) -> str:
        """For a person."""
        text = f"{self.what}: {self.agreeing} of {self.pairs} pairs in the paper's order, {self.surely} of them by more"
        text += " than the deviation"
        return text + (f"; surely against it: {'; '.join(self.against)}." if self.against else ".")


def value_at(figures: Figures, path: Path) -> float | None:
    """A score in per cent; None where a run has no such group."""
    place: object = figures
    for step in path:
        try:
            place = place[step]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return 100 * float(place) if isinstance(place, int | float) else None


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and the deviation where there are several."""
    mean = f"{statistics.fmean(values):.{digits}f}"
    return f"{mean} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else mean


def beside(table: ScoredTable, cells: FoundCells, measured: Mapping[tuple[str, str], str] | None = None) -> Table:
    """Every printed row, each of ours beneath the one that it answers, with what was `measured` rather than scored."""
    shown = {(cell.row, cell.column): spread(values) for cell, values in cells.items()}
    return with_ours(printed_table(table.printed), table.title, {**shown, **(measured or {})}, table.note)


def with_ours(printed: PrintedTable, title: str, shown: Mapping[tuple[str, str], str], note: str = "") -> Table:
    """The printed table with our cells, by row and column, in rows of their own."""
    rows = []
    for row in printed.rows:
        rows.append([row.name, *(row.cells[column] for column in printed.columns)])
        ours = [shown.get((row.name, column), "-") for column in printed.columns]
        if any(cell != "-" for cell in ours):
            rows.append([f"**{OURS}**: {row.name}", *ours])
    return Table(title, [printed.head, *printed.columns], rows, note)


def orders(table: ScoredTable, cells: FoundCells) -> list[Order]:
    """For each score of ours: which pairs stand as the paper has them."""
    printed = printed_table(table.printed)
    groups: dict[tuple[str, Path], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.data, cell.path), []).append(cell)
    return [order for some in groups.values() if (order := _order(printed, some, cells)) is not None]


def _order(printed: PrintedTable, some: Sequence[Cell], cells: FoundCells) -> Order | None:
    agreeing = surely = pairs = 0
    against = []
    is_by_column = len({cell.column for cell in some}) > 1  # a grid, or a row of settings
    for one, two in combinations(some, 2):
        wanted = _printed(printed, one) - _printed(printed, two)
        if not wanted:
            continue
        pairs += 1
        gap = statistics.fmean(cells[one]) - statistics.fmean(cells[two])
        deviations = [statistics.stdev(cells[each]) for each in (one, two) if len(cells[each]) > 1]
        is_sure = len(deviations) == 2 and abs(gap) > max(deviations)  # one seed tells no deviation
        if wanted * gap > 0:
            agreeing += 1
            surely += is_sure
        elif is_sure:
            better, worse = (one, two) if gap > 0 else (two, one)
            against.append(f"{_name(better, is_by_column)} above {_name(worse, is_by_column)}")
    what = some[0].data if is_by_column else some[0].column
    return Order(what, agreeing, surely, pairs, tuple(against)) if pairs else None


def _printed(printed: PrintedTable, cell: Cell) -> float:
    value = printed.value(cell.row, cell.column)
    assert value is not None  # our rows are LOCATER's, which are printed whole
    return value


def _name(cell: Cell, is_by_column: bool) -> str:
    return f"{cell.row}, {cell.column}" if is_by_column else cell.row
