"""An uploaded clip, decoded by processes of its own: a file that kills its decoder ends that process and no more."""

import json
import multiprocessing
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import numpy as np

from locater.errors import LocaterError
from locater.records import Frame, VideoInfo
from locater.video.array_source import check_stride
from locater.web.segment import decoder
from locater.web.segment.limits import Limits

_LARGEST_MESSAGE = 2**16  # bytes

# A process that has everything imported and no threads, from which the others are forked in no time.
_PROCESSES = multiprocessing.get_context("forkserver")
_PRELOADED = ["locater.web.segment.decoder"]
_PROCESSES.set_forkserver_preload(_PRELOADED)


def start_decoders(program: str) -> None:
    """Begin to import what decodes, in a process of its own, so that no clip need wait for it.

    `program` is what the script that was started imports: each process would import it again.
    """
    _PROCESSES.set_forkserver_preload([*_PRELOADED, program])
    forkserver.ensure_running()


class ChildVideo:
    """A clip as a source of frames, each reading of it in a child process."""

    is_repeatable = True

    def __init__(self, path: Path, name: str, limits: Limits) -> None:
        self.path = path
        self._limits = limits
        self._bounds = decoder.Bounds(name, limits.seconds, limits.frames, limits.pixels, limits.memory_bytes)
        with self._child(decoder.send_info) as child:
            found = self._message(child, limits.open_seconds, "info")
        self.info = VideoInfo(name, **{told: found[told] for told in decoder.TOLD})

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..., while the child decodes ahead as far as a pipe goes."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        with self._child(decoder.send_frames, start, every) as child:
            while (told := self._message(child, self._limits.frame_seconds, "frame")) is not None:
                index, timestamp, height, width = told
                if height * width > self._limits.pixels:
                    raise self._broken()
                pixels = np.frombuffer(_received(child, height * width * 3) or b"", dtype=np.uint8)
                if pixels.size != height * width * 3:
                    raise self._broken()
                yield Frame(index, timestamp, pixels.reshape(height, width, 3))

    def previews(self, out: Path) -> Iterator[int]:
        """The bytes of each frame's small JPEG, as they are appended to `out`."""
        with self._child(decoder.send_previews, out) as child:
            while (size := self._message(child, self._limits.frame_seconds, "preview")) is not None:
                yield int(size)

    def sound(self, out: Path) -> Path | None:
        """`out`, with the clip's sound in it; None where it has none, or none that can be read."""
        try:
            with self._child(decoder.send_sound, out) as child:
                return out if self._message(child, self._limits.frame_seconds, "sound") else None
        except LocaterError:
            return None  # the pictures are worth something without it

    @contextmanager
    def _child(self, work: Callable[..., None], *given: object) -> Iterator[Connection]:
        ours, theirs = _PROCESSES.Pipe(duplex=False)
        process = _PROCESSES.Process(target=work, args=(theirs, self.path, self._bounds, *given), daemon=True)
        process.start()
        theirs.close()
        try:
            yield ours
        finally:
            ours.close()
            process.kill()  # it has nothing to put in order
            process.join()
            process.close()

    def _message(self, child: Connection, seconds: float, kind: str) -> Any:
        """The content of the child's next message, None at the end."""
        if not child.poll(seconds):
            raise LocaterError(
                f"{self._bounds.name} takes too long to decode; convert it to an H.264 mp4 and try again."
            )
        content = _received(child, _LARGEST_MESSAGE)
        if content is None:
            raise self._broken()
        told, found = json.loads(content)
        if told == "error":
            raise LocaterError(str(found))
        if told not in (kind, "end"):
            raise self._broken()
        return found

    def _broken(self) -> LocaterError:
        return LocaterError(
            f"{self._bounds.name} broke the program that decodes it; convert it to an H.264 mp4 and try again."
        )


def _received(child: Connection, most: int) -> bytes | None:
    try:
        return child.recv_bytes(most)
    except (EOFError, OSError):
        return None


class Previews:
    """A clip's frames as small JPEGs in one file, by index, as far as they are made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ends = array("Q", [0])
        self._lock = Lock()
        self._file: BinaryIO | None = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, size: int) -> None:
        """Count the next one, which is in the file."""
        self._ends.append(self._ends[-1] + size)

    def picture(self, index: int) -> bytes:
        """A frame's JPEG."""
        with self._lock:
            self._file = self._file or self.path.open("rb")
            self._file.seek(self._ends[index])
            return self._file.read(self._ends[index + 1] - self._ends[index])

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
