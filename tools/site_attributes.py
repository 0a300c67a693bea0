"""Lets the API reference show what the comment beside an attribute says of it (an extension of Griffe)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import griffe

_BESIDE = re.compile(r"\s{2}# (.*)$")
_ABOVE = re.compile(r"^\s*# (?!-)(.*)$")  # a ruler is none


class CommentsOfAttributes(griffe.Extension):
    """Makes an attribute's comment its docstring, where it has none."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Give one attribute of a class its docstring."""
        of_a_class = attr.parent is not None and attr.parent.is_class
        if attr.docstring is None and of_a_class and attr.lineno and attr.endlineno and isinstance(attr.filepath, Path):
            comment = comment_of(attr.lines_collection[attr.filepath], attr.lineno - 1, attr.endlineno - 1)
            attr.docstring = griffe.Docstring(comment[0].upper() + comment[1:], parent=attr) if comment else None


def comment_of(lines: Sequence[str], first: int, last: int) -> str:
    """What is said after the statement on lines `first` to `last`, else on the lines above it; "" if nothing is."""
    if beside := _BESIDE.search(lines[last]):
        return beside[1]
    above: list[str] = []
    while first > 0 and (line := _ABOVE.match(lines[first - 1])):
        above.insert(0, line[1])
        first -= 1
    return " ".join(above)
