"""What a process that decodes one clip does; its answers are JSON and pixels, so that no file reaches further.

It runs with bounds on memory and time, opens nothing but the clip, and ends with its reader.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path

import av
import av.error
from PIL import Image

from locater.errors import LocaterError
from locater.records import Frame
from locater.video.file_source import VideoFile
from locater.video.sound import save_sound

TOLD = ("width", "height", "frame_count", "frames_per_second", "duration")  # of `VideoInfo`
_CPU_SECONDS = 3600
_PLAYLISTS = frozenset({"hls", "concat", "concatf", "dash", "imf", "sdp", "rtsp", "tty", "image2", "lavfi"})
_PREVIEW_SIDE = 960  # pixels
_JPEG_QUALITY = 82


@dataclass(frozen=True)
class Bounds:
    """What a clip may be."""

    name: str  # as its owner calls it
    seconds: float
    frames: int
    pixels: int
    memory_bytes: int


def send_info(connection: Connection, path: Path, bounds: Bounds) -> None:
    """Tell what the clip is."""

    def work() -> None:
        info = _opened(path, bounds).info
        _send(connection, "info", {name: getattr(info, name) for name in TOLD})

    _answer(connection, path, bounds, work)


def send_frames(connection: Connection, path: Path, bounds: Bounds, start: int, every: int) -> None:
    """Send frames, each as its place and time, then its pixels."""

    def work() -> None:
        for frame in _frames(path, bounds, start, every):
            _send(connection, "frame", [frame.index, frame.timestamp, *frame.pixels.shape[:2]])
            connection.send_bytes(frame.pixels.tobytes())
        _send(connection, "end", None)

    _answer(connection, path, bounds, work)


def send_previews(connection: Connection, path: Path, bounds: Bounds, out: Path) -> None:
    """Append every frame as a small JPEG to `out`, and tell how long each is."""

    def work() -> None:
        os.nice(5)  # who segments goes first
        with out.open("wb", buffering=0) as file:
            for frame in _frames(path, bounds, 0, 1):
                content = _small_jpeg(frame)
                file.write(content)
                _send(connection, "preview", len(content))
        _send(connection, "end", None)

    _answer(connection, path, bounds, work)


def send_sound(connection: Connection, path: Path, bounds: Bounds, out: Path) -> None:
    """Write the clip's sound to `out` as a file of ours, and tell whether it has any."""

    def work() -> None:
        _opened(path, bounds)
        _send(connection, "sound", save_sound(path, out, 1.1 * bounds.seconds + 1))

    _answer(connection, path, bounds, work)


def _answer(connection: Connection, path: Path, bounds: Bounds, work: Callable[[], None]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to answer
    _bound_resources(bounds)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # nobody wants the rest
            try:
                work()
            except LocaterError as error:
                _send(connection, "error", str(error).replace(str(path), bounds.name))
            except (MemoryError, av.error.FFmpegError, OSError, ValueError) as error:
                if isinstance(error, BrokenPipeError | ConnectionResetError):
                    raise
                _send(
                    connection, "error", f"{bounds.name} cannot be decoded; convert it to an H.264 mp4 and try again."
                )
    finally:
        connection.close()


def _send(connection: Connection, kind: str, content: object) -> None:
    connection.send_bytes(json.dumps([kind, content]).encode())


def _bound_resources(bounds: Bounds) -> None:
    import resource  # not on every system

    held = 0
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        held = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
    resource.setrlimit(resource.RLIMIT_DATA, (held + bounds.memory_bytes,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _opened(path: Path, bounds: Bounds) -> VideoFile:
    """The clip, when it is within its bounds; a frame is decoded only after its size is known to be."""
    _check_header(path, bounds)
    video = VideoFile(path)
    info = video.info
    _check_size(info.width or 0, info.height or 0, bounds)
    if (info.duration or 0.0) > bounds.seconds or (info.frame_count or 0) > bounds.frames:
        raise LocaterError(
            f"{bounds.name} is {_length(info.duration or 0.0)} long; this page takes clips of up to "
            f"{_length(bounds.seconds)}. Cut it, or use the command line, which takes any length."
        )
    return video


def _check_header(path: Path, bounds: Bounds) -> None:
    """Nothing, for a single file of pictures in bounds; a playlist, which opens other files, is none."""
    try:
        # Read through our own handle, and with no protocol to open anything else by.
        with path.open("rb") as file, av.open(file, "r", options={"protocol_whitelist": "none"}) as container:
            if _PLAYLISTS & set(container.format.name.split(",")):
                raise LocaterError(f"{bounds.name} is a list of other files; give the video itself.")
            for stream in container.streams.video:
                if stream.codec_context is not None:
                    _check_size(stream.codec_context.width, stream.codec_context.height, bounds)
    except (av.error.FFmpegError, UnicodeError, ValueError):
        head = path.open("rb").read(12)
        if head[4:8] != b"ftyp":  # of an mp4 without an index the reader proper has more to say
            raise LocaterError(
                f"{bounds.name} is not a video that can be read; check that it plays in a video player."
            ) from None


def _check_size(width: int, height: int, bounds: Bounds) -> None:
    if width * height > bounds.pixels:
        raise LocaterError(
            f"{bounds.name} has frames of {width} x {height}, which is {width * height / 1e6:.1f} megapixels; this "
            f"page takes up to {bounds.pixels / 1e6:.1f}. Scale it down, or use the command line."
        )


def _length(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _frames(path: Path, bounds: Bounds, start: int, every: int) -> Iterator[Frame]:
    for frame in _opened(path, bounds).frames(start, every):
        # A header may say less than the file holds.
        if frame.index >= bounds.frames or frame.timestamp > 1.1 * bounds.seconds + 1:
            raise LocaterError(f"{bounds.name} is longer than its header says, and than this page takes; cut it.")
        yield frame


def _small_jpeg(frame: Frame) -> bytes:
    image = Image.fromarray(frame.pixels)
    image.thumbnail((_PREVIEW_SIDE, _PREVIEW_SIDE), Image.Resampling.BILINEAR, reducing_gap=2.0)
    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=_JPEG_QUALITY)
    return buffer.getvalue()
