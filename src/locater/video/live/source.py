"""Frames as they happen: from a camera, a stream's address, or a file played at its own speed.

A thread reads on without pause and holds one frame, the newest. Whoever asks gets that one; those that came between
two questions are dropped, never queued, so that what is seen is never older than the work on one frame takes.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import av.error

from locater.errors import LocaterError
from locater.frames import Frame, check_stride
from locater.video.live.stream import Picture, open_pictures


@dataclass(frozen=True)
class _Arrived:
    picture: Picture
    seconds: float  # since the first frame


class LiveSource:
    """A camera's number, a stream's address or a video file, read once, as it happens."""

    is_repeatable = False

    def __init__(self, address: str) -> None:
        self._address = address
        self._stream = open_pictures(address)
        self.info = self._stream.info
        self._changed = threading.Condition()
        self._newest: _Arrived | None = None
        self._is_over = self._is_closed = False
        self._error: Exception | None = None
        self._started_at = 0.0
        self.arrived = self.dropped = 0  # frames that came, and those of them that nobody had time for

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """The newest frame whenever one is asked for, numbered from `start` on; its time is that of its arrival."""
        check_stride(start, every)
        if self._started_at:
            raise LocaterError("This stream is being read already; open it again for a second reader.")
        self._started_at = time.monotonic()
        threading.Thread(target=self._read, name="live source", daemon=True).start()
        return self._frames(start, every)

    def age(self, frame: Frame) -> float:
        """Seconds since a frame arrived."""
        return self._seconds() - frame.timestamp

    def _seconds(self) -> float:
        return time.monotonic() - self._started_at

    def close(self) -> None:
        """Let the frames end; from a signal handler, too."""
        self._is_closed = True

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        index = start
        taken = 0
        while (arrived := self._take()) is not None:
            if taken % every == 0:
                yield Frame(index, arrived.seconds, arrived.picture.pixels())
            taken += 1
            index += 1
        if self._error is not None:
            if isinstance(self._error, LocaterError):
                raise self._error
            raise LocaterError(f"{self._address} broke off: {self._error}; start again when it is back.")

    def _take(self) -> _Arrived | None:
        with self._changed:
            while self._newest is None and not self._is_over and not self._is_closed:
                self._changed.wait(timeout=0.1)  # so that `close` need not wake anybody
            taken, self._newest = self._newest, None
            return None if self._is_closed else taken

    # ---- The reading thread ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        first: float | None = None
        try:
            for picture in self._stream.pictures():
                if self._is_closed:
                    break
                first = picture.seconds if first is None else first
                self._offer(picture, first)
        except (av.error.FFmpegError, OSError, LocaterError) as error:
            self._error = error
        finally:
            self._is_over = True
            with self._changed:
                self._changed.notify_all()
            self._stream.close()

    def _offer(self, picture: Picture, first: float | None) -> None:
        if self._stream.is_paced and picture.seconds is not None and first is not None:
            time.sleep(max(0.0, picture.seconds - first - self._seconds()))
        with self._changed:
            self.arrived += 1
            self.dropped += self._newest is not None
            self._newest = _Arrived(picture, self._seconds())
            self._changed.notify_all()
