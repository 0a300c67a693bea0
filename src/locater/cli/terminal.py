"""What commands show besides their results: progress, and warnings and failures as single lines.

Progress is bars on a terminal, and now and then a plain line anywhere else. Speeds are means since the work began: over
the last moments they would be those of a burst, as results come a chunk at a time.
"""

import logging
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, Task

FIRST_LINE, NEXT_LINES = 5.0, 30.0  # seconds
LONGEST_LINE = 2000  # characters
_HARMLESS = frozenset("\n\t\u00a0\u3000\u200c\u200d")  # line breaks, tabs, wide spaces, joiners of letters and emoji


class ProgressDisplay(Protocol):
    """What both kinds of display offer: tasks that are updated, as rich has them."""

    def add_task(
        self, description: str, start: bool = True, total: float | None = 100.0, *, visible: bool = True
    ) -> Any:
        """A new task's number."""
        ...

    def update(
        self,
        task_id: Any,
        *,
        completed: float | None = None,
        total: float | None = None,
        description: str | None = None,
        before: float = 0.0,
    ) -> None:
        """Change what is told; `before` is how much of it was done before this run, and counts for no speed."""
        ...

    def start_task(self, task_id: Any) -> None:
        """Let a task's clock begin now."""
        ...


@contextmanager
def progress_display(unit: str) -> "Iterator[ProgressDisplay]":
    """A display with the count, the speed in `unit` and the time left, for whatever standard error is."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield PlainLines(unit)
        return
    with _bars(unit, console) as progress:
        yield progress


@dataclass
class _PlainTask:
    description: str
    total: float | None
    is_visible: bool
    started_at: float | None
    completed: float = 0.0
    before: float = 0.0


@dataclass
class PlainLines:
    """Progress for a log: a line after some seconds, then a line from time to time."""

    unit: str
    clock: "Callable[[], float]" = time.monotonic
    _tasks: list[_PlainTask] = field(default_factory=list)
    _next_at: float | None = None

    def add_task(
        self, description: str, start: bool = True, total: float | None = 100.0, *, visible: bool = True
    ) -> int:
        """A new task's number."""
        now = self.clock()
        self._next_at = self._next_at or now + FIRST_LINE
        self._tasks.append(_PlainTask(description, total, visible, now if start else None))
        return len(self._tasks) - 1

    def update(
        self,
        task_id: int,
        *,
        completed: float | None = None,
        total: float | None = None,
        description: str | None = None,
        before: float = 0.0,
    ) -> None:
        """Change what is told, and tell it when it is time."""
        task = self._tasks[task_id]
        task.before = before
        task.completed = task.completed if completed is None else completed
        task.total = task.total if total is None else total
        task.description = description or task.description
        now = self.clock()
        if task.is_visible and self._next_at is not None and now >= self._next_at:
            self._next_at = now + NEXT_LINES
            print(one_line(self._line(task, now)), file=sys.stderr, flush=True)

    def start_task(self, task_id: int) -> None:
        """Let a task's clock begin now."""
        self._tasks[task_id].started_at = self.clock()

    def _line(self, task: _PlainTask, now: float) -> str:
        elapsed = None if task.started_at is None else now - task.started_at
        parts = [
            f"{task.description}: {_count(task.completed, task.total)}",
            rate_text(task.completed - task.before, elapsed, self.unit),
            time_left(task.completed - task.before, _left(task.completed, task.total), elapsed),
        ]
        return ", ".join(part for part in parts if part)


def rate_text(done: float, elapsed: float | None, unit: str) -> str:
    """The mean speed since the start; nothing before anything is done."""
    return f"{done / elapsed:.1f} {unit}" if done > 0 and elapsed else ""


def time_left(done: float, left: float | None, elapsed: float | None) -> str:
    """Hours, minutes and seconds at the mean speed; nothing where it cannot be known."""
    if done <= 0 or not elapsed or not left:
        return ""
    minutes, seconds = divmod(round(elapsed * left / done), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d} left"


def _left(completed: float, total: float | None) -> float | None:
    return None if total is None else max(0.0, total - completed)


def _count(completed: float, total: float | None) -> str:
    return f"{completed:.0f}" if total is None else f"{completed:.0f}/{total:.0f}"


def _bars(unit: str, console: Any) -> "Progress":
    from rich.progress import BarColumn, Progress, ProgressColumn
    from rich.text import Text

    class Column(ProgressColumn):
        def __init__(self, text: "Callable[[Task], str]") -> None:
            super().__init__()
            self.text = text

        def render(self, task: "Task") -> Text:
            return Text(self.text(task))

    def elapsed(task: "Task") -> float | None:
        return task.finished_time or task.elapsed

    def done(task: "Task") -> float:
        return task.completed - float(task.fields.get("before", 0.0))

    return Progress(
        Column(lambda task: one_line(task.description)),
        BarColumn(),
        Column(lambda task: _count(task.completed, task.total)),
        Column(lambda task: rate_text(done(task), elapsed(task), unit)),
        Column(lambda task: time_left(done(task), _left(task.completed, task.total), elapsed(task))),
        console=console,
    )


# ---- Single lines ----------------------------------------------------------------------------------------------------


@contextmanager
def plain_warnings() -> "Iterator[None]":
    """Warnings as one line each and once each, without the line of code that raised them."""
    import warnings

    said: set[str] = set()

    def say(message: Warning | str) -> None:
        line = f"Warning: {one_line(str(message))}"
        if line not in said:
            said.add(line)
            print(line, file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: say(message)
        yield


def say_failure(what: str, error: Exception) -> None:
    """One line on standard error about one of many that failed."""
    print(f"Error: {one_line(f'{what}: {error}')}", file=sys.stderr)


def say(message: str = "", to_error: bool = False) -> None:
    """Print a result, or what is on standard error; the names and sentences in it cannot command the terminal."""
    print(printable(message), file=sys.stderr if to_error else sys.stdout)


def one_line(message: str) -> str:
    """The message without the line breaks and control characters that a file's name or a sentence brought in."""
    line = " ".join(message.split())
    return printable(line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]} ...")


def printable(text: str) -> str:
    """The text with escapes for what would move the cursor, change colours or turn the direction of writing."""
    return "".join(each if each.isprintable() or each in _HARMLESS else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class PrintableFormatter(logging.Formatter):
    """Log lines likewise."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        return one_line(super().format(record))
