"""What a process that decodes one source does; its answers are JSON and pixels, so that no file reaches further.

It runs with bounds on memory, opens nothing but what it was asked for, and ends with its reader.
"""

import logging
import math
import os
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import av.error
import numpy as np
from PIL import Image

from locater.errors import LocaterError
from locater.frames import Frame, VideoInfo
from locater.video.file_source import Bounds, VideoFile
from locater.video.folder_source import PictureFiles, picture_folder
from locater.video.guarded.channel import Channel
from locater.video.guarded.limits import Limits, check_length, check_reached, check_size, out_of_memory
from locater.video.guarded.read_ahead import read_ahead
from locater.video.sound import save_sound

TOLD = ("name", "width", "height", "frame_count", "frames_per_second", "duration")  # of `VideoInfo`
_SIGN_SECONDS = 1.0
_PREVIEW_SIDE = 960  # pixels
_JPEG_QUALITY = 82


@dataclass(frozen=True)
class Job:
    """A source, and what is wanted of it."""

    task: str  # a name of `_TASKS`
    paths: list[str]  # one video file or folder, or pictures in their order
    shown: str  # as messages call it
    rate: float | None  # of pictures; None: it is a video file
    is_folder: bool
    folder: str | None  # where relative paths begin
    limits: dict[str, Any]
    start: int = 0
    every: int = 1
    out: str = ""  # of jpegs and of sound


def answer(channel: Channel) -> None:
    """Do the one job that a connection brings, and tell what came of it."""
    with suppress(OSError):  # nobody wants the rest
        _, told = channel.receive(None)
        job = Job(**told)
        limits = Limits(**job.limits)
        if job.folder is not None:
            os.chdir(job.folder)
        logging.getLogger("locater").addHandler(_Told(channel))
        _bound_resources(limits)
        Image.MAX_IMAGE_PIXELS = None  # the limits are checked before Pillow reads a pixel
        try:
            _TASKS[job.task](channel, job, limits)
            channel.send("end", None)
        except LocaterError as error:
            channel.send("error", str(error))
        except MemoryError:
            channel.send("error", str(out_of_memory(job.shown, limits)))
        except (av.error.FFmpegError, OSError, ValueError, SyntaxError) as error:
            if isinstance(error, BrokenPipeError | ConnectionResetError):
                raise
            channel.send("error", f"{job.shown} cannot be decoded; convert it to an H.264 mp4 and try again.")


class _Told(logging.Handler):
    """Hands on what the reader logs."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(logging.WARNING)
        self._channel = channel

    def emit(self, record: logging.LogRecord) -> None:
        self._channel.send("warning", record.getMessage())


def _bound_resources(limits: Limits) -> None:
    import resource  # not on every system

    held = 0
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        held = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData:"))
    most = resource.getrlimit(resource.RLIMIT_DATA)[1]
    allowed = held + limits.memory_bytes
    if most != resource.RLIM_INFINITY:
        allowed = min(allowed, most)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _signs(channel: Channel) -> Callable[[], None]:
    """Something to call often, which lets the reader know now and then that the work goes on."""
    last = time.monotonic()

    def sign() -> None:
        nonlocal last
        if time.monotonic() - last > _SIGN_SECONDS:
            last = time.monotonic()
            channel.send("alive", None)

    return sign


def _opened(channel: Channel, job: Job, limits: Limits) -> VideoFile | PictureFiles:
    """The source, when it is within its limits; a frame is decoded only after its size is known to be."""

    def check(width: int, height: int) -> None:
        check_size(job.shown, width, height, limits)

    bounds = Bounds(limits.pixels, check, _signs(channel))
    source: VideoFile | PictureFiles
    if job.rate is None:
        source = VideoFile(Path(job.paths[0]), bounds)
    elif job.is_folder:
        source = picture_folder(Path(job.paths[0]), job.rate, bounds)
    else:
        source = PictureFiles([Path(each) for each in job.paths], job.rate, bounds=bounds)
    info = source.info
    check(info.width or 0, info.height or 0)
    check_length(job.shown, info.duration or 0.0, info.frame_count or 0, limits)
    return source


def _send_info(channel: Channel, job: Job, limits: Limits) -> None:
    info: VideoInfo = _opened(channel, job, limits).info
    channel.send("info", {name: getattr(info, name) for name in TOLD})


def _send_frames(channel: Channel, job: Job, limits: Limits) -> None:
    """Each frame as its place and time, then its pixels."""
    source = _opened(channel, job, limits)
    size = 3 * (source.info.width or 0) * (source.info.height or 0)
    # The next one is decoded while one is sent; who reads holds more of them.
    for frame in read_ahead(_frames(source, job, limits), size, most_waiting=1):
        told = [frame.index, frame.timestamp, *frame.pixels.shape[:2], frame.name]
        channel.send("frame", told, np.ascontiguousarray(frame.pixels).data.cast("B"))


def _send_jpegs(channel: Channel, job: Job, limits: Limits) -> None:
    """Append every frame as a small JPEG to a file, and tell how long each is."""
    os.nice(5)  # who segments goes first
    with Path(job.out).open("wb", buffering=0) as file:
        for frame in _frames(_opened(channel, job, limits), job, limits):
            content = _small_jpeg(frame)
            file.write(content)
            channel.send("jpeg", len(content))


def _send_sound(channel: Channel, job: Job, limits: Limits) -> None:
    """Write a video's sound to a file of ours, and tell whether it has any."""
    longest = math.inf if limits.seconds is None else 1.1 * limits.seconds + 1
    has_sound = save_sound(Path(job.paths[0]), Path(job.out), longest, _signs(channel))
    channel.send("sound", has_sound)


_TASKS = {"info": _send_info, "frames": _send_frames, "jpegs": _send_jpegs, "sound": _send_sound}


def _frames(source: VideoFile | PictureFiles, job: Job, limits: Limits) -> Generator[Frame, None, None]:
    for frame in source.frames(job.start, job.every):
        check_reached(job.shown, frame.index, frame.timestamp, limits)
        yield frame


def _small_jpeg(frame: Frame) -> bytes:
    image = Image.fromarray(frame.pixels)
    image.thumbnail((_PREVIEW_SIDE, _PREVIEW_SIDE), Image.Resampling.BILINEAR, reducing_gap=2.0)
    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=_JPEG_QUALITY)
    return buffer.getvalue()
