"""One HTML page that needs nothing but itself: style inside, pictures as data, no script, nothing from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Protocol

# A reader's browser refuses whatever is not in the file, whoever put it there.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Block(Protocol):
    """Anything that stands on a page: a table, a chart, a picture, a paragraph."""

    def html(self) -> str:
        """Its markup."""
        ...


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def html(self) -> str:
        """Its markup."""
        return f"<p>{escape(self.text)}</p>"


@dataclass(frozen=True)
class Commands:
    """Lines for a terminal."""

    lines: Sequence[str]

    def html(self) -> str:
        """Its markup."""
        return f'<pre class="wide" tabindex="0">{escape(chr(10).join(self.lines))}</pre>'


@dataclass(frozen=True)
class Facts:
    """A few figures that matter most, large: what it is, its value, and a word on it."""

    facts: Sequence[tuple[str, str, str]]

    def html(self) -> str:
        """Its markup."""
        tiles = (
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><dd>{escape(remark)}</dd></div>"
            for name, value, remark in self.facts
        )
        return f'<dl class="facts">{"".join(tiles)}</dl>'


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; charts stand side by side where there is room."""

    title: str
    blocks: Sequence[Block]
    are_beside: bool = False

    def html(self) -> str:
        """Its markup."""
        inside = "".join(block.html() for block in self.blocks)
        return f"<section><h2>{escape(self.title)}</h2>{_beside(inside) if self.are_beside else inside}</section>"


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    about: str
    sections: Sequence[Section]

    def html(self) -> str:
        """The file's text; the same report gives the same text."""
        body = "\n".join(section.html() for section in self.sections if section.blocks)
        return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>{escape(self.title)}</title>
<style>
{_style()}</style>
</head>
<body>
<main>
<header><h1>{escape(self.title)}</h1><p>{escape(self.about)}</p></header>
{body}
</main>
</body>
</html>
"""


def _beside(inside: str) -> str:
    return f'<div class="beside">{inside}</div>'


@cache
def _style() -> str:
    return (resources.files("locater.report") / "page.css").read_text("utf-8")
