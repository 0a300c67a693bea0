"""What every writer is, what it is told before the first frame, and how its files are named."""

import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import numpy as np
import numpy.typing as npt

from locater.records import Frame, FrameMasks, Mask, VideoInfo

_LONGEST_NAME = 40  # letters of a sentence in a file's name


@dataclass(frozen=True)
class Output:
    """What is known before the first frame."""

    folder: Path  # exists
    info: VideoInfo
    expressions: tuple[str, ...]
    has_images: bool  # the frames themselves are written too, by `ImagesWriter`


class Writer(ABC):
    """Writes frames as they come; leaving its `with` block finishes the files, unless an error is on its way."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._open_files = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as files:
            self.open(files)
            files.push(self._finish)  # last in, so that it finds everything open
            self._open_files = files.pop_all()
        return self

    def open(self, files: ExitStack) -> None:  # noqa: B027 - most need nothing
        """Prepare for the first frame; what is entered on `files` is closed at the end."""

    @abstractmethod
    def write(self, marked: FrameMasks) -> None:
        """Add the next frame."""

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """A call that adds the frame when its turn has come; what needs no turn is done at once, on any thread."""
        return partial(self.write, marked)

    def finish(self) -> None:  # noqa: B027 - most know everything by then
        """Add what could not be known before the last frame."""

    def _finish(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.finish()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_files.__exit__(kind, error, trace)


class PreparingWriter(Writer):
    """A writer most of whose work on a frame needs no turn."""

    def write(self, marked: FrameMasks) -> None:
        """Prepare the next frame, and add it."""
        self.prepared(marked)()

    @abstractmethod
    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Do what needs no turn, on any thread; the call does the rest."""


class Writers:
    """Several writers fed as one."""

    def __init__(self, each: Sequence[Writer]) -> None:
        self.each = tuple(each)
        self._open_writers = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for writer in self.each:
                stack.enter_context(writer)
            self._open_writers = stack.pop_all()
        return self

    def write(self, marked: FrameMasks) -> None:
        """Give the next frame to each."""
        for writer in self.each:
            writer.write(marked)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_writers.__exit__(kind, error, trace)


class FrameNames:
    """Names for files about frames: of a picture its own without the ending, else the frame's number.

    Two pictures that differ in the ending alone, or in capitals, would share a file: the later one's name gets its
    number. The order of the frames decides, so every writer gives a frame the same name.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, frame: Frame) -> str:
        """The name of the next frame, without an ending."""
        if frame.name is None:
            return f"{frame.index:05d}"
        name = Path(frame.name).stem
        while name.lower() in self._taken:
            name += f"_{frame.index:05d}"
        self._taken.add(name.lower())
        return name


def sentence_names(expressions: Sequence[str]) -> list[str]:
    """A file name for each sentence: its number, and what plain letters it has: 1_the_dog_on_the_left."""
    words = (re.sub(r"[^a-z0-9]+", "_", expression.lower())[:_LONGEST_NAME].strip("_") for expression in expressions)
    return [f"{number}_{letters}" if letters else str(number) for number, letters in enumerate(words, start=1)]


def sentence_paths(output: Output, room: str, ending: str) -> list[Path]:
    """A path per sentence in the folder `room`, which is made."""
    folder = output.folder / room
    folder.mkdir(exist_ok=True)
    return [folder / f"{name}{ending}" for name in sentence_names(output.expressions)]


def sentence_folders(output: Output, room: str) -> list[Path]:
    """A folder per sentence in the folder `room`; all are made."""
    folders = sentence_paths(output, room, "")
    for folder in folders:
        folder.mkdir()
    return folders


def scratch_file(folder: Path, files: ExitStack) -> IO[str]:
    """A nameless text file on the folder's file system, gone when `files` are closed."""
    return files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", dir=folder))


def append_scratch(scratch: IO[str], file: IO[str]) -> None:
    """Write everything that a scratch file holds to the end of `file`."""
    scratch.seek(0)
    shutil.copyfileobj(scratch, file)


def bounding_box(mask: Mask) -> list[int]:
    """COCO's [left, top, width, height] around a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1]


def row_runs(mask: Mask) -> npt.NDArray[np.int64]:
    """Run lengths along the rows, background first: the first is 0 where the first pixel is marked."""
    flat = mask.ravel()
    edges = np.concatenate([[0], np.flatnonzero(flat[1:] != flat[:-1]) + 1, [flat.size]])
    runs = np.diff(edges)
    return np.concatenate([[0], runs]) if flat[0] else runs
