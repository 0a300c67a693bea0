"""Answers appended to a file as they finish, so that a killed run goes on where it was and many processes add up.

One line per question. A line that a kill cut short is no answer: the reader passes over it, the writer removes it.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from locater.errors import LocaterError
from locater.evaluation.metrics.sample_score import SampleScore

PATTERN = "answers.*.jsonl"


def journal_path(folder: Path, rank: int) -> Path:
    """The file of one process."""
    return folder / f"answers.{rank:05d}.jsonl"


class JournalReader:
    """The answers of all processes; `refresh` reads only what has come since."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._offsets: dict[Path, int] = {}
        self.answers: dict[str, SampleScore] = {}

    def refresh(self) -> None:
        """Take the lines written since the last time, whole ones only."""
        for path in sorted(self._folder.glob(PATTERN)):
            offset = self._offsets.get(path, 0)
            with path.open("rb") as file:
                file.seek(offset)
                content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            self._offsets[path] = offset + len(whole)
            for line in whole.splitlines():
                self._take(line, path)

    def _take(self, line: bytes, path: Path) -> None:
        try:
            score = SampleScore.from_json(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LocaterError(
                f"{path} holds a line that is no answer of this version; choose another --out, or remove the file."
            ) from None
        self.answers[score.info.key] = score


class JournalWriter:
    """One process's answers."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
            _drop_cut_line(path)
        except OSError as error:
            raise LocaterError(f"Cannot write {path}: {(error.strerror or str(error)).lower()}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, scores: Sequence[SampleScore]) -> None:
        """Add the answers of one pass over a video; on the disk when it returns."""
        lines = "".join(json.dumps(score.to_json(), separators=(",", ":")) + "\n" for score in scores)
        try:
            self._file.write(lines.encode("utf-8"))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise LocaterError(f"Cannot write {self._file.name}: {(error.strerror or str(error)).lower()}.") from error


def _drop_cut_line(path: Path) -> None:
    with path.open("r+b") as file:
        content = file.read()
        file.truncate(content.rfind(b"\n") + 1)
