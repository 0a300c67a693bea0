"""Frames from a folder of pictures, a video file, or whatever a program has."""

from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from locater_lite.errors import LocaterError
from locater_lite.pixels import Array

PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff"}
Timed = tuple[int, float, Array]  # a frame's number, its seconds, its pixels (H, W, 3) uint8


@runtime_checkable
class Source(Protocol):
    """Frames that are read one at a time."""

    is_repeatable: bool
    duration: float | None  # seconds, where they are known

    def timed(self, every: int = 1) -> Iterator[Timed]:
        """Every n-th frame, from the first."""


def as_source(frames: "Source | Iterable[Array]", frames_per_second: float) -> Source:
    """What `segment` reads; arrays come so many a second."""
    return frames if isinstance(frames, Source) else Arrays(frames, frames_per_second)


def open_source(path: Path, frames_per_second: float) -> Source:
    """A folder of pictures, so many a second, or a video file, which has its own times."""
    if not path.exists():
        raise LocaterError(f"There is no file {path}; check the path.")
    return PictureFolder(path, frames_per_second) if path.is_dir() else VideoFile(path)


class Arrays:
    """Frames of a program: a list can be read twice, an iterator once."""

    def __init__(self, frames: Iterable[Array], frames_per_second: float) -> None:
        self._frames = frames
        self._rate = frames_per_second
        self.is_repeatable = iter(frames) is not frames
        self.duration = len(frames) / frames_per_second if isinstance(frames, Sized) else None

    def timed(self, every: int = 1) -> Iterator[Timed]:
        """Every n-th frame, from the first."""
        for index, pixels in enumerate(self._frames):
            if index % every == 0:
                yield index, index / self._rate, pixels


class PictureFolder:
    """The pictures of a folder in the order of their names."""

    is_repeatable = True

    def __init__(self, folder: Path, frames_per_second: float) -> None:
        self._paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)
        if not self._paths:
            raise LocaterError(f"{folder} holds no pictures; give a folder of PNG or JPEG files, or a video.")
        self._rate = frames_per_second
        self.duration: float | None = len(self._paths) / frames_per_second

    def timed(self, every: int = 1) -> Iterator[Timed]:
        """Every n-th frame, from the first."""
        for index in range(0, len(self._paths), every):
            try:
                with Image.open(self._paths[index]) as image:
                    upright = ImageOps.exif_transpose(image).convert("RGB")
            except (UnidentifiedImageError, OSError):
                raise LocaterError(f"{self._paths[index]} is no picture that can be read; remove it.") from None
            yield index, index / self._rate, np.asarray(upright)


class VideoFile:
    """A video file, by PyAV, with the times that it has."""

    is_repeatable = True

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._opened() as container:
            stream = container.streams.video[0]
            ticks = stream.duration
            whole = container.duration / 1e6 if container.duration else None
            self.duration: float | None = float(ticks * stream.time_base) if ticks else whole

    def timed(self, every: int = 1) -> Iterator[Timed]:
        """Every n-th frame, from the first; those between are decoded, as video needs."""
        with self._opened() as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            first = None
            for index, frame in enumerate(container.decode(stream)):
                seconds = index / float(stream.average_rate or 24) if frame.time is None else frame.time
                first = seconds if first is None else first
                if index % every == 0:
                    yield index, seconds - first, _upright(frame)

    def _opened(self) -> Any:
        try:
            import av
        except ImportError:
            raise LocaterError("Video files need PyAV; run: pip install 'locater-lite[video]'.") from None
        try:
            container = av.open(str(self._path))
        except (av.error.FFmpegError, OSError):
            raise LocaterError(f"{self._path} is not a video that can be read; check that it plays.") from None
        if not container.streams.video:
            raise LocaterError(f"{self._path} has no picture; give a file with a video track.")
        return container


def _upright(frame: Any) -> Array:
    """A frame's pixels, turned as its file asks for: the matrix maps a stored point to a shown one."""
    pixels: Array = frame.to_ndarray(format="rgb24")
    told = frame.side_data.get("DISPLAYMATRIX")
    if told is None:
        return pixels
    (a, b), (c, d) = np.frombuffer(bytes(told), dtype=np.int32).reshape(3, 3)[:2, :2].tolist()
    if abs(b) + abs(c) > abs(a) + abs(d):
        return np.ascontiguousarray(pixels.transpose(1, 0, 2)[:: -1 if b < 0 else 1, :: -1 if c < 0 else 1])
    return np.ascontiguousarray(pixels[:: -1 if d < 0 else 1, :: -1 if a < 0 else 1])
