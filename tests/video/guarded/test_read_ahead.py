"""Frames read ahead: the same ones, never too many, and nothing is left running."""

import threading
import time
from collections.abc import Generator

import numpy as np
import pytest

from locater.errors import LocaterError
from locater.frames import Frame
from locater.video.guarded.read_ahead import read_ahead

PIXELS = np.zeros((8, 8, 3), np.uint8)


class Source:
    """Counts what is taken from it, and notes when it is closed."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self.count = count
        self.error = error
        self.taken = 0
        self.is_closed = False

    def frames(self) -> Generator[Frame, None, None]:
        try:
            for index in range(self.count):
                self.taken += 1
                yield Frame(index, index / 24, PIXELS)
            if self.error is not None:
                raise self.error
        finally:
            self.is_closed = True


def readers() -> int:
    return sum(each.name == "locater-read" for each in threading.enumerate())


def test_the_same_frames_in_their_order() -> None:
    source = Source(100)
    assert [frame.index for frame in read_ahead(source.frames(), PIXELS.nbytes)] == list(range(100))
    assert source.is_closed and readers() == 0


def test_an_error_comes_after_the_frames_before_it() -> None:
    source = Source(5, LocaterError("the file is cut short"))
    seen = []
    with pytest.raises(LocaterError, match="cut short"):
        for frame in read_ahead(source.frames(), PIXELS.nbytes):
            seen.append(frame.index)
    assert seen == list(range(5)) and readers() == 0


def test_frames_that_wait_are_bounded_by_their_bytes() -> None:
    source = Source(100)
    frames = read_ahead(source.frames(), frame_bytes=8 * 2**20)  # four of them may wait
    next(frames)
    time.sleep(0.2)
    assert source.taken == 1 + 4 + 1, "one given, four waiting, one in hand"
    frames.close()  # type: ignore[attr-defined]
    assert source.is_closed and readers() == 0


def test_whoever_leaves_early_ends_the_reading() -> None:
    source = Source(10**9)
    for frame in read_ahead(source.frames(), PIXELS.nbytes):
        if frame.index == 3:
            time.sleep(0.2)  # the thread has no more room by then, and waits
            break
    del frame
    assert readers() == 0 and source.is_closed
    assert source.taken < 50
