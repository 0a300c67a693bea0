"""Where live pictures come from: a camera or an address, read here, or a file, read by a process of its own."""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import av
import av.error
from av.container import InputContainer
from av.video.frame import VideoFrame

from locater.errors import LocaterError
from locater.frames import Frame, FrameSource, Pixels, VideoInfo
from locater.video.orientation import UprightPixels, orientation_of
from locater.video.reader import open_video

_STREAMS = ("rtsp", "rtsps", "rtmp", "rtmps", "http", "https", "udp", "tcp", "rtp", "srt")
_PROTOCOLS = ",".join((*_STREAMS, "tls", "crypto", "httpproxy"))  # no stream may make FFmpeg open a local file
_CAMERAS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}")}
_PATIENCE = 10.0  # seconds to wait for a stream to begin, or to go on


@dataclass(frozen=True)
class Picture:
    """One that arrived; its pixels are made when somebody looks."""

    seconds: float | None  # of its own clock
    pixels: Callable[[], Pixels]


class Stream:
    """A camera's or an address's pictures, which come at their own speed."""

    is_paced = False

    def __init__(self, address: str) -> None:
        self._container = _opened(address)
        self._decoded = self._read()
        first = next(self._decoded, None)
        if first is None:
            self._container.close()
            raise _no_picture(address)
        self._first = first
        orientation = orientation_of(first)
        width, height = orientation.upright_size(first.width, first.height)
        self._pixels = UprightPixels(first.width, first.height, orientation)
        rate = self._container.streams.video[0].average_rate
        self.info = VideoInfo(Path(address).name or address, width, height, None, float(rate) if rate else None)

    def pictures(self) -> Iterator[Picture]:
        """Every picture, once."""
        yield self._picture(self._first)
        yield from map(self._picture, self._decoded)

    def close(self) -> None:
        """Let go of it."""
        self._container.close()

    def _picture(self, frame: VideoFrame) -> Picture:
        return Picture(frame.time, lambda: self._pixels.of(frame))

    def _read(self) -> Iterator[VideoFrame]:
        for packet in self._container.demux(self._container.streams.video[0]):
            try:
                yield from packet.decode()
            except av.error.InvalidDataError:
                continue  # as players do


class Played:
    """A video file's pictures, to be slowed down to their own speed."""

    is_paced = True

    def __init__(self, path: Path) -> None:
        self._source: FrameSource = open_video(path)
        known = self._source.info
        self.info = VideoInfo(known.name, known.width, known.height, None, known.frames_per_second)

    def pictures(self) -> Iterator[Picture]:
        """Every picture, once."""
        return map(_as_picture, self._source.frames())

    def close(self) -> None:
        """Nothing is held here."""


def open_pictures(address: str) -> Stream | Played:
    """The pictures behind a camera's number, a stream's address or a path."""
    if re.fullmatch(r"\d+", address) or "://" in address:
        return Stream(address)
    path = Path(address).expanduser()
    if not path.is_file():
        raise LocaterError(f"There is no file {address}; give a camera's number, a stream's address or a video file.")
    return Played(path)


def _as_picture(frame: Frame) -> Picture:
    return Picture(frame.timestamp, lambda: frame.pixels)


def _no_picture(address: str) -> LocaterError:
    return LocaterError(f"{address} gives no picture; check that it plays, or that no other program has it.")


def _opened(address: str) -> InputContainer:
    form, path, options = _how_to_open(address)
    try:
        container = av.open(path, "r", format=form, options=options, timeout=_PATIENCE)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LocaterError(f"Cannot open {address}: {reason.lower()}; check that it is there and plays.") from None
    if not container.streams.video:
        container.close()
        raise LocaterError(f"{address} has no picture; give a camera's number, a stream's address or a video file.")
    return container


def _how_to_open(address: str) -> tuple[str | None, str, dict[str, str]]:
    quick = {"fflags": "nobuffer", "flags": "low_delay"}
    if "://" not in address:
        if sys.platform not in _CAMERAS:
            raise LocaterError("Cameras are opened on Linux and macOS alone; give the address of a stream instead.")
        form, name = _CAMERAS[sys.platform]
        return form, name.format(int(address)), quick
    if address.partition("://")[0].lower() not in _STREAMS:
        raise LocaterError(f"{address} is no stream's address; those begin with {', '.join(_STREAMS)}.")
    return None, address, {**quick, "protocol_whitelist": _PROTOCOLS, "rtsp_transport": "tcp"}
