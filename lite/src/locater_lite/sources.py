"""Frames from a folder of pictures, a video file, or whatever a program has."""

import re
import warnings
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from PIL import Image, ImageOps

from locater_lite.errors import LocaterError
from locater_lite.pixels import Array

PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".bmp"}
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


def checked(frames: Iterator[Timed]) -> Iterator[Timed]:
    """The same frames, where each is a picture as large as the first."""
    first: tuple[int, ...] | None = None
    for index, seconds, pixels in frames:
        if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
            raise LocaterError(
                f"Frame {index} is {pixels.dtype} of the shape {pixels.shape}; give uint8 of (height, width, 3), RGB."
            )
        first = first or pixels.shape
        if pixels.shape != first:
            raise LocaterError(
                f"Frame {index} is {pixels.shape[1]} x {pixels.shape[0]}, the first is {first[1]} x {first[0]}; "
                "make all frames the same size."
            )
        yield index, seconds, pixels


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
    """The pictures of a folder in the order of their numbers: frame2 before frame10."""

    is_repeatable = True

    def __init__(self, folder: Path | str, frames_per_second: float) -> None:
        self._paths = sorted(
            (path for path in Path(folder).iterdir() if path.suffix.lower() in PICTURES and path.is_file()),
            key=_natural,
        )
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
            except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
                raise LocaterError(f"{self._paths[index]} is no picture that can be read; remove it.") from None
            yield index, index / self._rate, np.asarray(upright)


class VideoFile:
    """A video file, by PyAV, with the times that it has."""

    is_repeatable = True

    def __init__(self, path: Path | str) -> None:
        self._path = path
        with self._opened() as (container, stream):
            ticks = stream.duration
            whole = container.duration / 1e6 if container.duration else None
            self.duration: float | None = float(ticks * stream.time_base) if ticks else whole

    def timed(self, every: int = 1) -> Iterator[Timed]:
        """Every n-th frame, from the first; those between are decoded, as video needs."""
        with self._opened() as (container, stream):
            stream.thread_type = "AUTO"
            step = 1 / float(stream.average_rate or 24)
            first = seconds = 0.0
            size = (0, 0)
            for index, frame in enumerate(self._decoded(container, stream)):
                if index == 0:
                    first, size = frame.time or 0.0, (frame.width, frame.height)
                elif frame.time is not None and frame.time - first > seconds:
                    seconds = frame.time - first
                else:  # raw streams carry no times, and broken ones go backwards
                    seconds += step
                if index % every == 0:  # a broadcast that changes its size midway keeps its first, as in players
                    yield index, seconds, _upright(frame.reformat(*size, format="rgb24"), frame)

    def _decoded(self, container: Any, stream: Any) -> Iterator[Any]:
        """Every frame; damaged packets are skipped and told of, as players do."""
        import av

        damaged = 0
        try:
            for packet in container.demux(stream):
                try:
                    yield from packet.decode()
                except av.error.InvalidDataError:
                    damaged += 1
        except av.error.FFmpegError:
            raise LocaterError(f"{self._path} is damaged, and cannot be read to its end; copy it again.") from None
        if damaged:
            warnings.warn(f"{self._path}: {damaged} damaged packets were skipped.", stacklevel=2)

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any]]:
        """The container and its picture stream; a song's cover is none."""
        try:
            import av
        except ImportError:
            raise LocaterError("Video files need PyAV; run: pip install 'locater-lite[video]'.") from None
        try:
            container = av.open(str(self._path))
        except (av.error.FFmpegError, OSError, ValueError):
            raise LocaterError(f"{self._path} is not a video that can be read; check that it plays.") from None
        with container:
            cover = av.stream.Disposition.attached_pic
            stream = next((each for each in container.streams.video if cover not in each.disposition), None)
            if stream is None or stream.codec_context is None:
                raise LocaterError(f"{self._path} has no picture that can be decoded; give a file with a video track.")
            yield container, stream


def _natural(path: Path) -> tuple[list[tuple[int, str]], str]:
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts], path.name


def _upright(picture: Any, frame: Any) -> Array:
    """A frame's picture, turned as its file asks for: the matrix maps a stored point to a shown one."""
    pixels: Array = picture.to_ndarray()
    told = frame.side_data.get("DISPLAYMATRIX")
    if told is None:
        return pixels
    (a, b), (c, d) = np.frombuffer(bytes(told), dtype=np.int32).reshape(3, 3)[:2, :2].tolist()
    if abs(b) + abs(c) > abs(a) + abs(d):
        return np.ascontiguousarray(pixels.transpose(1, 0, 2)[:: -1 if b < 0 else 1, :: -1 if c < 0 else 1])
    return np.ascontiguousarray(pixels[:: -1 if d < 0 else 1, :: -1 if a < 0 else 1])
