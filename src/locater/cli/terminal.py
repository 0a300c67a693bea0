"""What commands show on the terminal besides their results: progress, and warnings as single lines."""

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, Task


@contextmanager
def progress_display(unit: str) -> "Iterator[Progress]":
    """A progress display on standard error with the speed and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: "Task") -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f} {unit}")

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,  # a log file gets warnings and errors alone
    ) as progress:
        yield progress


@contextmanager
def plain_warnings() -> "Iterator[None]":
    """Warnings as one line each, without the line of code that raised them."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: print(f"Warning: {one_line(str(message))}", file=sys.stderr)
        yield


def one_line(message: str) -> str:
    """The message without the line breaks that a file's name or a sentence brought in."""
    return " ".join(message.split())
