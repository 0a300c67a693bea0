"""Every example of a document, in its order: commands and Python, fenced or indented."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("locater", "python", "pip", "pytest", "make", "git", "cd", "torchrun", ".venv/bin/")
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```|((?:^    [^\n]+\n)+)", re.DOTALL | re.MULTILINE)
_CONTINUED = re.compile(r"\\\n\s*")
_SETTING = re.compile(r"^(?:[A-Z_]+=\S* )+")


@dataclass(frozen=True)
class Example:
    """One command, or one block of Python."""

    text: str
    is_python: bool = False

    @property
    def words(self) -> list[str]:
        """A command as a shell reads it, without settings before it, comments, and what another program is to do."""
        return shlex.split(_SETTING.sub("", re.split(r" \|", self.text)[0]), comments=True)

    @property
    def is_usage(self) -> bool:
        """Whether it tells a command's form, with options in brackets or dots for what is left out."""
        return not self.is_python and bool(re.search(r"\s\[|\s\.\.\.(\s|$)|\b[A-Z]+\[:", self.text))


def examples(document: Path) -> list[Example]:
    """All of a document's."""
    return list(_examples(document.read_text(encoding="utf-8")))


def _examples(text: str) -> Iterator[Example]:
    for language, fenced, indented in _BLOCK.findall(text):
        if language == "python":
            yield Example(fenced, is_python=True)
        elif language in ("", "bash", "sh"):
            for line in _CONTINUED.sub("", fenced or indented).splitlines():
                if _SETTING.sub("", line.strip()).startswith(PROGRAMS):
                    yield Example(line.strip())
