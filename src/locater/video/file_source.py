"""Frames from a video file, through FFmpeg's libraries (PyAV): upright, in RGB, at their own times."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import av
import av.error
from av.codec.context import ThreadType
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from locater.compute.in_order import in_order
from locater.errors import LocaterError
from locater.frames import Frame, VideoInfo, check_stride
from locater.video.orientation import UprightPixels, orientation_of

_FALLBACK_RATE = Fraction(24)
_CORES_A_THREAD = 4  # that converts colours: with fewer cores the decoder keeps them busy
_AHEAD_BYTES = 32 * 2**20  # of frames that are converted and not yet asked for
_HIGHEST_PLAUSIBLE_RATE = 240  # an average above it is mostly an AVI's clock taken for its rate
# Formats that are about other files, or about no file at all.
_LISTS = frozenset(
    (
        *("applehttp", "avisynth", "concat", "concatf", "dash", "hls", "image2"),
        *("image2pipe", "imf", "lavfi", "mlv", "rtp", "rtsp"),
        *("sap", "sdp", "tty", "vapoursynth", "vobsub", "webm_dash_manifest"),
    )
)
_HEADS_OF_LISTS = (b"#EXTM3U", b"ffconcat ", b"v=0", b"<?xml", b"<MPD", b"# VobSub")

log = logging.getLogger(__name__)


class VideoFile:
    """A video file; opening it reads the headers and one frame, so that a bad file fails before the work starts."""

    is_repeatable = True

    def __init__(self, path: Path, bounds: "Bounds | None" = None) -> None:
        self._path = path
        self._bounds = bounds = bounds or Bounds()
        _check_file(path)
        with _opened(path, bounds) as (container, stream):
            _check_not_cut(path, container, stream)
            first = next(_decoded(path, container, stream, bounds), None)
            if first is None:
                raise _no_frames(path)
            self._size = (first.width, first.height)
            self._orientation = orientation_of(first)
            self._rate = _rate(stream)
            extent = _extent_in_headers(container, stream, self._rate)
        if extent is None:
            with _opened(path, bounds) as (container, stream):
                extent = _extent_by_counting(container, stream, self._rate, bounds)
        width, height = self._orientation.upright_size(*self._size)
        self.info = VideoInfo(
            name=path.name,
            width=width,
            height=height,
            frame_count=extent.frame_count,
            frames_per_second=float(self._rate),
            duration=extent.duration,
            path=path.absolute(),
        )

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; those between are decoded, as video needs, but not converted."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        clock = _Clock(1 / self._rate)
        # A broadcast may change its size midway; as players do, later frames take the first one's size.
        pixels = UprightPixels(*self._size, self._orientation)
        threads = (os.cpu_count() or 1) // _CORES_A_THREAD
        ahead = max(1, min(2 * threads, _AHEAD_BYTES // (3 * self._size[0] * self._size[1])))
        with _opened(self._path, self._bounds) as (container, stream):
            timed = (
                (index, clock.seconds(frame), frame)
                for index, frame in enumerate(_decoded(self._path, container, stream, self._bounds))
            )
            wanted = (each for each in timed if each[0] >= start and (each[0] - start) % every == 0)
            yield from in_order(wanted, lambda each: Frame(each[0], each[1], pixels.of(each[2])), threads, ahead)


@dataclass(frozen=True)
class Bounds:
    """What whoever opens a file has to say of it: no more by default."""

    pixels: int | None = None  # of a frame; one that turns larger midway counts as damaged
    check_size: Callable[[int, int], None] = lambda _width, _height: None  # raises for what is too large to begin
    on_packet: Callable[[], None] = lambda: None  # hears that reading goes on


@dataclass(frozen=True)
class _Extent:
    frame_count: int
    duration: float  # seconds


class _Clock:
    """Seconds since the first frame, always growing."""

    def __init__(self, usual_step: Fraction) -> None:
        self._usual_step = usual_step
        self._first: Fraction | None = None
        self._last: Fraction | None = None

    def seconds(self, frame: VideoFrame) -> float:
        own = frame.pts * frame.time_base if frame.pts is not None and frame.time_base else None
        if self._last is None or self._first is None:
            self._first = self._last = own if own is not None else Fraction(0)
        elif own is not None and own > self._last:
            self._last = own
        else:  # raw streams carry no times, and broken ones go backwards
            self._last += self._usual_step
        return float(self._last - self._first)


def _check_file(path: Path) -> None:
    if not path.exists():
        raise LocaterError(f"There is no file {path}; check the path.")
    if not path.is_file():
        raise LocaterError(f"{path} is no plain file; give a video file, or read the camera and pass its frames.")
    if path.stat().st_size == 0:
        raise LocaterError(f"{path} is empty; copy or record it again.")


@contextmanager
def _opened(path: Path, bounds: Bounds) -> Iterator[tuple[InputContainer, VideoStream]]:
    """The container and its picture stream, closed at the end."""
    try:
        container = open_container(path)
    except PermissionError:
        raise LocaterError(f"{path} may not be read; change its permissions.") from None
    except av.error.EOFError:
        raise _no_frames(path) from None
    except (av.error.FFmpegError, UnicodeError, ValueError) as error:
        if isinstance(error, MemoryError):
            raise
        raise _cannot_open(path) from None
    with container:
        # A song's cover picture is a video stream to FFmpeg, not to a person.
        streams = [stream for stream in container.streams.video if not _is_cover(stream)]
        if not container.streams:
            raise _no_frames(path)
        if not streams:
            raise LocaterError(f"{path} has no picture, only sound; give a file with a video track.")
        stream = streams[0]
        if stream.codec_context is None:
            raise LocaterError(f"{path} uses a codec that this FFmpeg cannot decode; convert it to H.264 first.")
        bounds.check_size(stream.codec_context.width, stream.codec_context.height)
        if bounds.pixels is not None:
            stream.codec_context.options = {"max_pixels": str(bounds.pixels)}
        stream.thread_type = ThreadType.AUTO
        yield container, stream


def open_container(path: Path) -> InputContainer:
    """A file as FFmpeg has it; it can open no other file and no address, whatever the file says."""
    with path.open("rb") as file:
        # FFmpeg has the open file and no protocol to name another by: no playlist, no reference, no name leads further.
        restricted = {"fd": str(file.fileno()), "protocol_whitelist": "fd", "format_whitelist": _single_files()}
        return av.open("fd:", "r", options=restricted)


@cache
def _single_files() -> str:
    """Every format that FFmpeg reads, but for lists of other files."""
    return ",".join(sorted(av.formats_available - _LISTS))


def _is_cover(stream: VideoStream) -> bool:
    return Disposition.attached_pic in stream.disposition


def _no_frames(path: Path) -> LocaterError:
    return LocaterError(f"{path} has no frames that can be decoded; check that it plays, or record it again.")


def _cannot_open(path: Path) -> LocaterError:
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(_HEADS_OF_LISTS):
        return LocaterError(f"{path} is a list of other files; give the video itself.")
    if head[4:8] == b"ftyp":  # an mp4 all right, so its index is what is missing
        return LocaterError(
            f"{path} is cut short: its index is missing, as when a recording or a copy stops early; "
            "copy it again, or repair it with a tool such as untrunc."
        )
    return LocaterError(f"{path} is not a video that FFmpeg can read; check that it plays in a video player.")


def _is_mp4(container: InputContainer) -> bool:
    return "mp4" in container.format.name.split(",")  # FFmpeg's one reader of mp4, mov, m4a and 3gp


def _check_not_cut(path: Path, container: InputContainer, stream: VideoStream) -> None:
    """Nothing, unless an mp4's index points behind the end of the file.

    Neither the decoder's errors nor a count of packets would do: a cut between two packets looks like a normal end,
    and an edit list makes good files yield fewer packets than their index has. Other containers have no such index.
    """
    if not _is_mp4(container):
        return
    size = path.stat().st_size
    whole = sum(entry.pos + entry.size <= size for entry in stream.index_entries)
    count = len(stream.index_entries)
    if whole < count:
        raise LocaterError(
            f"{path} is cut short: only {whole} of its {count} frames are in the file; copy or download it again."
        )


def _decoded(path: Path, container: InputContainer, stream: VideoStream, bounds: Bounds) -> Iterator[VideoFrame]:
    """Every frame; damaged packets are skipped and reported at the end, as players do."""
    packets = container.demux(stream)
    damaged = count = 0
    while True:
        try:
            packet = next(packets, None)
        except MemoryError:
            raise
        except av.error.FFmpegError:
            raise LocaterError(f"{path} is damaged: reading it stopped after {count} frames; copy it again.") from None
        if packet is None:
            break
        bounds.on_packet()
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            damaged += 1
            continue
        except MemoryError:
            raise
        except av.error.FFmpegError as error:
            raise LocaterError(f"{path} cannot be decoded after {count} frames: {error.strerror}.") from None
        count += len(frames)
        yield from frames
    if damaged:
        log.warning("%s: %d damaged packets were skipped.", path, damaged)


def _rate(stream: VideoStream) -> Fraction:
    average, guessed = stream.average_rate, stream.guessed_rate
    if average and average <= _HIGHEST_PLAUSIBLE_RATE:
        return average
    return guessed or average or _FALLBACK_RATE


def _extent_in_headers(container: InputContainer, stream: VideoStream, rate: Fraction) -> _Extent | None:
    if stream.duration and stream.time_base:
        duration = float(stream.duration * stream.time_base)
    elif container.duration:
        duration = container.duration / av.time_base
    else:
        return None
    by_rate = max(1, round(duration * rate))
    count = stream.frames
    if count and _is_mp4(container):  # an edit list hides some of the stored frames
        count = sum(not entry.is_discard for entry in stream.index_entries)
    # AVI writes its clock's ticks where a frame count belongs, so the count is held against the rate.
    return _Extent(count if 0 < count <= 2 * by_rate else by_rate, duration)


def _extent_by_counting(container: InputContainer, stream: VideoStream, rate: Fraction, bounds: Bounds) -> _Extent:
    """Frames and seconds found by reading every packet without decoding it."""
    count = 0
    first: int | None = None
    last: int | None = None
    try:
        for packet in container.demux(stream):
            bounds.on_packet()
            if packet.size == 0:
                continue
            count += 1
            if packet.pts is not None:
                first = packet.pts if first is None else min(first, packet.pts)
                last = packet.pts if last is None else max(last, packet.pts)
    except av.error.FFmpegError:
        pass  # an estimate: the reading proper will say where the file breaks
    if first is not None and last is not None and last > first and stream.time_base:
        return _Extent(count, float((last - first) * stream.time_base + 1 / rate))
    return _Extent(count, float(count / rate))
