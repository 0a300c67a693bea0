"""Frames as they happen: from a camera, a stream's address, or a file played at its own speed.

A thread reads on without pause and holds one frame, the newest. Whoever asks gets that one; those that came between
two questions are dropped, never queued, so that what is seen is never older than the work on one frame takes.
"""

import re
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import av.error
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame

from locater.errors import LocaterError
from locater.records import Frame, Pixels, VideoInfo
from locater.video.array_source import check_stride
from locater.video.orientation import Orientation, orientation_of

_STREAMS = ("rtsp", "rtsps", "rtmp", "rtmps", "http", "https", "udp", "tcp", "rtp", "srt")
_PROTOCOLS = ",".join((*_STREAMS, "tls", "crypto", "httpproxy"))  # no stream may make FFmpeg open a local file
_CAMERAS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}")}
_PATIENCE = 10.0  # seconds to wait for a stream to begin, or to go on


@dataclass(frozen=True)
class _Arrived:
    picture: VideoFrame
    seconds: float  # since the first frame


class LiveSource:
    """A camera's number, a stream's address or a video file, read once, as it happens."""

    is_repeatable = False

    def __init__(self, address: str) -> None:
        self._address = address
        self._container, self._is_paced = _opened(address)
        self._pictures = self._decoded()
        first = next(self._pictures, None)
        if first is None:
            self._container.close()
            raise LocaterError(f"{address} gives no picture; check that it plays, or that no other program has it.")
        self._size = (first.width, first.height)
        self._orientation: Orientation = orientation_of(first)
        width, height = self._orientation.upright_size(*self._size)
        rate = self._container.streams.video[0].average_rate
        self.info = VideoInfo(Path(address).name or address, width, height, None, float(rate) if rate else None)
        self._first = first
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
                yield Frame(index, arrived.seconds, self._pixels(arrived.picture))
            taken += 1
            index += 1
        if self._error is not None:
            raise LocaterError(f"{self._address} broke off: {self._error}; start again when it is back.")

    def _take(self) -> _Arrived | None:
        with self._changed:
            while self._newest is None and not self._is_over and not self._is_closed:
                self._changed.wait(timeout=0.1)  # so that `close` need not wake anybody
            taken, self._newest = self._newest, None
            return None if self._is_closed else taken

    def _pixels(self, picture: VideoFrame) -> Pixels:
        width, height = self._size
        rgb = picture.reformat(width=width, height=height, format="rgb24").to_ndarray()
        return self._orientation.apply(np.asarray(rgb, dtype=np.uint8))

    # ---- The reading thread ------------------------------------------------------------------------------------------

    def _read(self) -> None:
        try:
            self._offer(self._first)
            for picture in self._pictures:
                if self._is_closed:
                    break
                self._offer(picture)
        except (av.error.FFmpegError, OSError) as error:
            self._error = error
        finally:
            self._is_over = True
            with self._changed:
                self._changed.notify_all()
            self._container.close()

    def _offer(self, picture: VideoFrame) -> None:
        if self._is_paced and picture.time is not None and self._first.time is not None:
            time.sleep(max(0.0, picture.time - self._first.time - self._seconds()))
        with self._changed:
            self.arrived += 1
            self.dropped += self._newest is not None
            self._newest = _Arrived(picture, self._seconds())
            self._changed.notify_all()

    def _decoded(self) -> Iterator[VideoFrame]:
        stream = self._container.streams.video[0]
        for packet in self._container.demux(stream):
            try:
                yield from packet.decode()
            except av.error.InvalidDataError:
                continue  # as players do


def _opened(address: str) -> tuple[InputContainer, bool]:
    """The container behind a source, and whether it must be slowed down to its own speed."""
    form, path, options = _how_to_open(address)
    is_paced = form is None and "://" not in path
    try:
        container = av.open(path, "r", format=form, options=options, timeout=None if is_paced else _PATIENCE)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LocaterError(f"Cannot open {address}: {reason.lower()}; check that it is there and plays.") from None
    if not container.streams.video:
        container.close()
        raise LocaterError(f"{address} has no picture; give a camera's number, a stream's address or a video file.")
    return container, is_paced


def _how_to_open(address: str) -> tuple[str | None, str, dict[str, str]]:
    quick = {"fflags": "nobuffer", "flags": "low_delay"}
    if re.fullmatch(r"\d+", address):
        if sys.platform not in _CAMERAS:
            raise LocaterError("Cameras are opened on Linux and macOS alone; give the address of a stream instead.")
        form, name = _CAMERAS[sys.platform]
        return form, name.format(int(address)), quick
    if "://" in address:
        if address.partition("://")[0].lower() not in _STREAMS:
            raise LocaterError(f"{address} is no stream's address; those begin with {', '.join(_STREAMS)}.")
        return None, address, {**quick, "protocol_whitelist": _PROTOCOLS, "rtsp_transport": "tcp"}
    path = Path(address).expanduser()
    if not path.is_file():
        raise LocaterError(f"There is no file {address}; give a camera's number, a stream's address or a video file.")
    return None, str(path.absolute()), {"protocol_whitelist": "file"}
