"""Writers that work while the next frames are segmented: a pool prepares frames, one thread per writer keeps order."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock, Semaphore, Thread
from types import TracebackType
from typing import Self

from locater.records import FrameMasks
from locater.video.writers.writing import Writers

_WAITING_BYTES = 64 * 2**20  # of frames that are segmented and not yet written
_MOST_WAITING = 16  # frames
_MOST_THREADS = 8  # that draw: with so many an encoder is slower than they are

Turn = Callable[[], None]


def drawing_threads() -> int:
    """How many threads prepare frames: half of the cores, as the encoder and the network need some too."""
    return max(1, min(_MOST_THREADS, (os.cpu_count() or 1) // 2))


class BackgroundWriters:
    """Writers whose `write` returns at once, unless too many frames are waiting.

    The files are those of the plain way: frames may be prepared in any order, and are written in theirs. What goes
    wrong is raised by the next `write` or at the end, and nothing more is written after it.
    """

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._failure = _Failure()
        self._lines = [_Line(self._failure) for _ in writers.each]
        self._pool = ThreadPoolExecutor(drawing_threads(), "locater-draw")
        self._room: Semaphore | None = None

    def __enter__(self) -> Self:
        self._writers.__enter__()
        return self

    def write(self, marked: FrameMasks) -> None:
        """Give the next frame to each."""
        self._failure.raise_if_any()
        if not self._lines:
            return
        if self._room is None:
            self._room = Semaphore(_waiting_frames(marked))
        self._room.acquire()
        frame = _Waiting(len(self._lines), self._room)
        for writer, line in zip(self._writers.each, self._lines, strict=True):
            line.add(self._pool.submit(writer.prepared, marked), frame)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._failure.set(error)
            self._stop()
            if kind is None:
                self._failure.raise_if_any()
        except BaseException as failure:
            self._failure.set(failure)
            self._stop()  # once more where somebody interrupted it: no thread may touch a file that is closed
            self._writers.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._writers.__exit__(kind, error, trace)

    def _stop(self) -> None:
        for line in self._lines:
            line.finish()
        self._pool.shutdown()


class _Failure:
    """The first thing that went wrong; after it nothing is written."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._lock = Lock()

    def set(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error

    def raise_if_any(self) -> None:
        if self.error is not None:
            raise self.error


class _Waiting:
    """A frame that takes room until every writer has written it."""

    def __init__(self, writers: int, room: Semaphore) -> None:
        self._left = writers
        self._room = room
        self._lock = Lock()

    def written(self) -> None:
        with self._lock:
            self._left -= 1
            is_done = self._left == 0
        if is_done:
            self._room.release()


class _Line:
    """One writer's frames in their order, and the thread that calls them up."""

    def __init__(self, failure: _Failure) -> None:
        self._failure = failure
        self._frames: SimpleQueue[tuple[Future[Turn], _Waiting] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="locater-write", daemon=True)

    def add(self, prepared: "Future[Turn]", frame: _Waiting) -> None:
        if self._thread.ident is None:
            self._thread.start()
        self._frames.put((prepared, frame))

    def finish(self) -> None:
        self._frames.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        while (next_one := self._frames.get()) is not None:
            prepared, frame = next_one
            try:
                if self._failure.error is not None:
                    prepared.cancel()
                else:
                    prepared.result()()
            except BaseException as error:  # told to whoever feeds the writers
                self._failure.set(error)
            finally:
                del prepared, next_one
                frame.written()


def _waiting_frames(marked: FrameMasks) -> int:
    """How many frames of this size may wait."""
    size = marked.frame.pixels.nbytes + marked.masks.nbytes
    if marked.soft_masks is not None:
        size += marked.soft_masks.nbytes
    return max(1, min(_MOST_WAITING, _WAITING_BYTES // max(1, size)))
