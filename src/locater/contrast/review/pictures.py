"""Frames as the page shows them: pictures as they lie on the disk, those of an mp4 decoded when asked for."""

import errno
import io
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from locater.errors import LocaterError
from locater.io.pictures import numbered_pictures
from locater.records import Frame, Pixels
from locater.video.reader import open_video

_LARGEST_CACHE = 64 * 2**20  # bytes: some ten clips of A2D's size and length
_MOST_FILMS = 4  # two clips of this pair, two of the last
_JPEG_QUALITY = 90


@dataclass(frozen=True)
class Picture:
    """A file that a browser can show."""

    content: bytes
    media_type: str


@dataclass
class _Film:
    """A video file, read onward."""

    frames: Iterator[Frame]
    next_index: int


class Pictures:
    """Single frames of videos, from any thread; what is kept in memory is bounded, whatever a video's length."""

    def __init__(self, largest_cache: int = _LARGEST_CACHE) -> None:
        self._largest_cache = largest_cache
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[Path, int], bytes] = OrderedDict()
        self._films: OrderedDict[tuple[Path, int], _Film] = OrderedDict()
        self.cached_bytes = 0

    def picture(self, video: Path, index: int, first: int = 0) -> Picture:
        """A frame by its index; `first` is where the clip it belongs to begins, and where reading an mp4 begins."""
        if video.is_dir():
            return _stored(video, index)
        with self._lock:
            content = self._cache.get((video, index))
            if content is None:
                content = self._decode(video, index, first)
            else:
                self._cache.move_to_end((video, index))
        return Picture(content, "image/jpeg")

    def _decode(self, video: Path, index: int, first: int) -> bytes:
        """The frame; those on the way to it are kept too, since they are asked for next."""
        film = self._films.pop((video, first), None)
        if film is None or film.next_index > index:
            film = _Film(open_video(video).frames(first), first)
        self._films[video, first] = film
        while len(self._films) > _MOST_FILMS:
            self._films.popitem(last=False)
        for frame in film.frames:
            film.next_index = frame.index + 1
            content = _jpeg(frame.pixels)
            self._keep((video, frame.index), content)
            if frame.index == index:
                return content
        raise LocaterError(f"{video} has no frame {index}; build it again.")

    def _keep(self, key: tuple[Path, int], content: bytes) -> None:
        self.cached_bytes += len(content) - len(self._cache.pop(key, b""))
        self._cache[key] = content
        while self.cached_bytes > self._largest_cache and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self.cached_bytes -= len(dropped)


def _stored(folder: Path, index: int) -> Picture:
    paths = numbered_pictures(folder)
    if index >= len(paths):
        raise LocaterError(f"{folder} has no frame {index}; build it again.")
    path = paths[index]
    return Picture(_plain_file(path), "image/png" if path.suffix == ".png" else "image/jpeg")


def _plain_file(path: Path) -> bytes:
    """A file's content; no link is followed out of the set, and nobody waits for a pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise LocaterError(f"{path} is a link; put the picture itself there.") from None
        raise
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise LocaterError(f"{path} is no plain file; build it again.")
        return file.read()


def _jpeg(pixels: Pixels) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=_JPEG_QUALITY)
    return buffer.getvalue()
