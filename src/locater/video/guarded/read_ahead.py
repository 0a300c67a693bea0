"""Frames fetched by a thread of their own while earlier ones are worked on."""

from collections.abc import Generator, Iterator
from contextlib import closing
from queue import Empty, Queue
from threading import Event, Thread

from locater.frames import Frame

_WAITING_BYTES = 32 * 2**20
_MOST_WAITING = 16  # frames
_PATIENCE = 1.0  # seconds


def read_ahead(
    frames: Generator[Frame, None, None], frame_bytes: int, most_waiting: int = _MOST_WAITING
) -> Iterator[Frame]:
    """The same frames; some wait in memory until they are asked for. What goes wrong comes in its place among them."""
    waiting = max(1, min(most_waiting, _WAITING_BYTES // max(1, frame_bytes)))
    fetched: Queue[Frame | BaseException | None] = Queue(waiting)
    is_left = Event()
    thread = Thread(target=_fetch, args=(frames, fetched, is_left), name="locater-read", daemon=True)
    thread.start()
    try:
        while (item := fetched.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        is_left.set()
        _make_room(fetched)
        thread.join(_PATIENCE)  # it ends with the frame that is being decoded; a file that stalls ends it later


def _fetch(
    frames: Generator[Frame, None, None], fetched: "Queue[Frame | BaseException | None]", is_left: Event
) -> None:
    last: BaseException | None = None
    try:
        with closing(frames):
            for frame in frames:
                fetched.put(frame)
                if is_left.is_set():
                    break
    except BaseException as error:  # whoever reads is told
        last = error
    if not is_left.is_set():
        fetched.put(last)


def _make_room(fetched: "Queue[Frame | BaseException | None]") -> None:
    """Let a thread that waits to put something down find that nobody is there."""
    try:
        while True:
            fetched.get_nowait()
    except Empty:
        pass
