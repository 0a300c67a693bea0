"""A table once, as Markdown for files that people diff and as HTML for the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Table:
    """Titled rows of cells; the first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def markdown(self) -> str:
        """The table without its title, and its note below."""
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join(lines) + (f"\n\n{self.note.replace('*', chr(92) + '*')}" if self.note else "")

    def html(self) -> str:
        """The same on a page, in a box that scrolls sideways where it is too wide."""
        head = "".join(f'<th scope="col">{escape(column)}</th>' for column in self.columns)
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in self.rows)
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="wide" tabindex="0">{table}</div>{note}'


def percent(value: float | int | None) -> str:
    """A share as a person reads it."""
    return "-" if value is None else f"{100 * value:.2f}"


def printed_cell(value: float | None) -> str:
    """A printed per cent; a dash where there is none."""
    return "-" if value is None else f"{value:.1f}"


def _cells(row: Sequence[str]) -> str:
    first, *others = row
    return f'<th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in others)
