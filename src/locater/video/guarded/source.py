"""Videos and pictures on disk as sources of frames, each reading of them in a child process with limits."""

import logging
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from locater.errors import LocaterError
from locater.frames import Frame, VideoInfo, check_stride
from locater.video.guarded.channel import Channel, ChannelClosedError, SilentError
from locater.video.guarded.limits import Limits, limits_of_environment, stalled
from locater.video.guarded.processes import decoder
from locater.video.guarded.read_ahead import read_ahead
from locater.video.guarded.work import TOLD, Job

log = logging.getLogger(__name__)


class GuardedSource:
    """Frames that other processes decode; whatever a file does to its decoder is one sentence here."""

    is_repeatable = True

    def __init__(self, job: Job, limits: Limits, name: str | None = None, path: Path | None = None) -> None:
        self._job = job
        self._limits = limits
        with decoder() as child:
            told = _asked(child, job, limits)("info")
        try:
            found = VideoInfo(**{each: told[each] for each in TOLD})
        except (KeyError, TypeError):
            raise _broken(job) from None
        self.info = replace(found, name=name or found.name, path=path)

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..., while the child decodes the next ones and a thread fetches them."""
        check_stride(start, every)
        return read_ahead(self._frames(start, every), 3 * (self.info.width or 0) * (self.info.height or 0))

    def _frames(self, start: int, every: int) -> Generator[Frame, None, None]:
        with decoder() as child:
            ask = _asked(child, replace(self._job, task="frames", start=start, every=every), self._limits)
            while (told := ask("frame")) is not None:
                try:
                    index, timestamp, height, width, name = told
                    if not 0 < int(height) * int(width) <= self._limits.pixels:
                        raise _broken(self._job)
                    frame = Frame(int(index), float(timestamp), np.empty((height, width, 3), np.uint8), name)
                    child.receive_into(frame.pixels.data.cast("B"), self._limits.stall_seconds)
                except SilentError:
                    raise stalled(self._job.shown, self._limits) from None
                except (ChannelClosedError, TypeError, ValueError):
                    raise _broken(self._job) from None
                yield frame

    def small_jpegs(self, out: Path) -> Iterator[int]:
        """The bytes of each frame's small JPEG, as they are appended to `out`."""
        with decoder() as child:
            ask = _asked(child, replace(self._job, task="jpegs", out=str(out.absolute())), self._limits)
            while (size := ask("jpeg")) is not None:
                yield int(size)


def guarded_video(path: Path, limits: Limits | None = None, name: str | None = None) -> GuardedSource:
    """A video file; with a `name` it is called so, and where it lies is told nobody."""
    job, limits = _job([path], None, name or str(path), False, limits)
    return GuardedSource(job, limits, name, None if name else path.absolute())


def guarded_folder(folder: Path, rate: float, limits: Limits | None = None) -> GuardedSource:
    """A folder's pictures as a video."""
    job, limits = _job([folder], rate, str(folder), True, limits)
    return GuardedSource(job, limits, path=folder.absolute())


def guarded_pictures(paths: Sequence[Path], rate: float, limits: Limits | None = None) -> GuardedSource:
    """Picture files as a video, in their order."""
    return GuardedSource(*_job(paths, rate, "the pictures", False, limits))


def guarded_sound(path: Path, out: Path) -> Path | None:
    """`out`, with a video's sound in it; None where it has none, or none that can be read."""
    job, limits = _job([path], None, str(path), False, None)
    try:
        with decoder() as child:
            ask = _asked(child, replace(job, task="sound", out=str(out.absolute())), limits)
            return out if ask("sound") else None
    except LocaterError:
        return None  # the pictures are worth something without it


def _job(
    paths: Sequence[Path], rate: float | None, shown: str, is_folder: bool, limits: Limits | None
) -> tuple[Job, Limits]:
    limits = limits_of_environment() if limits is None else limits
    try:
        here = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:  # removed under us; absolute paths do without
        here = None
    return Job("info", [str(each) for each in paths], shown, rate, is_folder, here, asdict(limits)), limits


def _asked(child: Channel, job: Job, limits: Limits) -> Callable[[str], Any]:
    """A function that gives the content of the child's next message of a kind, None at the end."""
    try:
        child.send("job", asdict(job))
    except OSError:
        raise _broken(job) from None

    def ask(kind: str) -> Any:
        while True:
            try:
                told, content = child.receive(limits.stall_seconds)
            except SilentError:
                raise stalled(job.shown, limits) from None
            except ChannelClosedError:
                raise _broken(job) from None
            if told == "error":
                raise LocaterError(_as_shown(job, str(content)))
            if told == "warning":
                log.warning("%s", _as_shown(job, str(content)))
            elif told in (kind, "end"):
                return content
            elif told != "alive":
                raise _broken(job)

    return ask


def _as_shown(job: Job, message: str) -> str:
    """The message with the source called as its owner does."""
    return message.replace(job.paths[0], job.shown) if len(job.paths) == 1 else message


def _broken(job: Job) -> LocaterError:
    return LocaterError(f"{job.shown} broke the program that decodes it; convert it to an H.264 mp4 and try again.")
