"""The paper's tables, one file each: `a2dsota.tsv` is its `tab:a2dsota`, `ablation_cme.tsv` its `tab:ablation:cme`.

A file has the printed rows in their order and the printed digits; `-` is a cell that the paper leaves empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

NOT_PRINTED = "-"
_ABOUT = ("venue", "backbone")  # columns that say whose row it is


@dataclass(frozen=True)
class PrintedRow:
    """One row, its cells as they are printed."""

    method: str
    cells: Mapping[str, str]  # by column
    venue: str = ""
    backbone: str = ""

    @property
    def name(self) -> str:
        """Who it is: unlike any other row's of its table."""
        if self.venue:
            return f"{self.method} ({self.venue})"
        return f"{self.method}, {self.backbone}" if self.backbone else self.method

    def value(self, column: str) -> float | None:
        """A cell as a number; None where the paper has none."""
        return None if self.cells[column] == NOT_PRINTED else float(self.cells[column])


@dataclass(frozen=True)
class PrintedTable:
    """One of the paper's tables."""

    head: str  # what the rows' names are
    columns: tuple[str, ...]
    rows: tuple[PrintedRow, ...]

    def row(self, name: str) -> PrintedRow:
        """The row of that name."""
        return next(row for row in self.rows if row.name == name)

    def value(self, name: str, column: str) -> float | None:
        """A cell as a number; None where the paper has none."""
        return self.row(name).value(column)


@cache
def printed_table(name: str) -> PrintedTable:
    """The table of that file's name."""
    text = (resources.files("locater.published") / f"{name}.tsv").read_text(encoding="utf-8")
    (head, *titles), *lines = (line.split("\t") for line in text.splitlines())
    columns = tuple(title for title in titles if title not in _ABOUT)
    rows = []
    for method, *cells in lines:
        by_title = dict(zip(titles, cells, strict=True))
        about = {title: by_title.get(title, "") for title in _ABOUT}
        rows.append(PrintedRow(method, {column: by_title[column] for column in columns}, **about))
    return PrintedTable(head, columns, tuple(rows))
