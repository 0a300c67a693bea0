"""What a mutant is."""

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """One bug that somebody could well write: a text of the source, and what stands there instead."""

    name: str
    file: str  # under src/locater
    old: str  # found exactly once in the file
    new: str
    tests: tuple[str, ...]  # files or nodes under tests/, any of which kills it
    why: str  # what would be wrong

    def source(self, project: Path) -> Path:
        """The file that it changes."""
        return project / "src" / "locater" / self.file

    def applied(self, text: str) -> str:
        """The file's text with the bug in it."""
        return text.replace(self.old, self.new)

    def staleness(self, project: Path) -> str:
        """Why it fits the project no longer; empty where it does."""
        path = self.source(project)
        if not path.is_file():
            return f"there is no {path.relative_to(project)}"
        found = path.read_text(encoding="utf-8").count(self.old)
        if found != 1:
            return f"its old text is found {found} times in {path.relative_to(project)}"
        for test in self.tests:
            file, _, name = test.partition("::")
            place = project / "tests" / file
            if not place.is_file():
                return f"there is no tests/{file}"
            function = re.escape(name.partition("[")[0])
            if name and not re.search(rf"^def {function}\(", place.read_text(encoding="utf-8"), re.MULTILINE):
                return f"tests/{file} has no {name}"
        return ""
