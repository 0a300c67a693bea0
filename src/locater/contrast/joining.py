"""Two videos as one, frame by frame: side by side (S) or one after the other (T); neither is ever held whole."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from PIL import Image

from locater.errors import LocaterError
from locater.records import Frame, Mask, Pixels, Sample
from locater.video.reader import DEFAULT_FRAMES_PER_SECOND

Found = TypeVar("Found")


class BrokenSourceError(Exception):
    """A source video or its masks cannot be read; the message says which and why."""


@dataclass(frozen=True)
class Half:
    """Where one of the two videos lies in the joined one."""

    left: int
    top: int
    width: int
    height: int
    first_frame: int
    frame_count: int
    padded_frames: int = 0  # repeats of the last frame at the end

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def place(self, mask: Mask, height: int, width: int) -> Mask:
        """A mask of this half in a picture of the joined size, empty elsewhere."""
        fitted = mask if mask.shape == (self.height, self.width) else _resized_mask(mask, self.width, self.height)
        placed: Mask = np.zeros((height, width), dtype=np.bool_)
        placed[self.top : self.top + self.height, self.left : self.left + self.width] = fitted
        return placed


class Joint(Protocol):
    """A video being joined; the halves are known once its frames have been read."""

    halves: dict[str, Half]  # "query", and "contrast" where there is one

    def frames(self) -> Iterator[Frame]:
        """The joined frames in order."""
        ...


class Alone:
    """M: the video as it is."""

    def __init__(self, query: Sample) -> None:
        self._query = query
        self.halves: dict[str, Half] = {}

    def frames(self) -> Iterator[Frame]:
        """The video's own frames."""
        count, size = 0, (0, 0)
        for frame in _read(self._query):
            count, size = count + 1, frame.pixels.shape[:2]
            yield frame
        self.halves = {"query": Half(0, 0, size[1], size[0], 0, count)}


class SideBySide:
    """S: joined along the width; the contrast takes the query's height and length."""

    def __init__(self, query: Sample, contrast: Sample, query_first: bool) -> None:
        self._query = query
        self._contrast = contrast
        self._query_first = query_first
        self.halves: dict[str, Half] = {}

    def frames(self) -> Iterator[Frame]:
        """A frame for each of the query's, at its time."""
        count, padded = 0, 0
        height = width = other_width = 0
        for frame, (other, is_repeat) in zip(_read(self._query), _held(self._contrast), strict=False):
            if not count:
                height, width = frame.pixels.shape[:2]
                other_width = fitted_width(other.shape[1], other.shape[0], height)
            count, padded = count + 1, padded + is_repeat
            pair = [frame.pixels, _resized(other, other_width, height)]
            joined: Pixels = np.concatenate(pair if self._query_first else pair[::-1], axis=1)
            yield Frame(frame.index, frame.timestamp, joined)
        self.halves = {
            "query": Half(0 if self._query_first else other_width, 0, width, height, 0, count),
            "contrast": Half(width if self._query_first else 0, 0, other_width, height, 0, count, padded),
        }


class OneAfterTheOther:
    """T: joined along time, as many frames of each; the contrast takes the query's size."""

    def __init__(self, query: Sample, contrast: Sample, query_first: bool) -> None:
        self._query = query
        self._contrast = contrast
        self._query_first = query_first
        self._padded = 0
        self.halves: dict[str, Half] = {}

    def frames(self) -> Iterator[Frame]:
        """The two in their order, the second going on where the first ends, at the query's rate."""
        step = 1 / rate_of(self._query)
        count, ends_at = 0, 0.0
        width = height = 0
        # With the query last it is read twice: a video file's headers may be wrong about how many frames it has.
        for frame in _read(self._query):
            count, ends_at = count + 1, frame.timestamp + step
            height, width = frame.pixels.shape[:2]
            if self._query_first:
                yield frame
        if self._query_first:
            yield from self._other(width, height, count, count, ends_at)
        else:
            yield from self._other(width, height, count, 0, 0.0)
            for frame in _read(self._query):
                yield Frame(count + frame.index, count * step + frame.timestamp, frame.pixels)
        first = 0 if self._query_first else count
        self.halves = {
            "query": Half(0, 0, width, height, first, count),
            "contrast": Half(0, 0, width, height, count - first, count, self._padded),
        }

    def _other(self, width: int, height: int, count: int, first_index: int, starts_at: float) -> Iterator[Frame]:
        step = 1 / rate_of(self._query)
        for place, (other, is_repeat) in zip(range(count), _held(self._contrast), strict=False):
            self._padded += is_repeat
            yield Frame(first_index + place, starts_at + place * step, _resized(other, width, height))


def fitted_width(width: int, height: int, to_height: int) -> int:
    """The width that a picture has when it is brought to another height."""
    return max(1, round(width * to_height / height))


def evenly_spaced(count: int, first: int, length: int) -> list[int]:
    """So many frames of a stretch, each in the middle of its share of it."""
    return [first + (2 * place + 1) * length // (2 * count) for place in range(count)]


def rate_of(sample: Sample) -> float:
    """Frames per second; the usual number where a source does not know."""
    rate = reading(sample.info.video, lambda: sample.frames.info.frames_per_second)
    return rate or DEFAULT_FRAMES_PER_SECOND


def reading(video: str, read: Callable[[], Found]) -> Found:
    """What `read` gives; whatever goes wrong in it is the source's fault, not the build's."""
    try:
        return read()
    except Exception as error:  # a file that no loader foresaw is still a finding, not a crash
        reason = str(error) if isinstance(error, LocaterError) else f"{type(error).__name__}: {error}"
        raise BrokenSourceError(f"{video}: {reason}") from None


def _read(sample: Sample) -> Iterator[Frame]:
    video = sample.info.video
    frames = iter(reading(video, sample.frames.frames))
    is_empty = True
    while (frame := reading(video, lambda: next(frames, None))) is not None:
        is_empty = False
        yield frame
    if is_empty:
        raise BrokenSourceError(f"{video}: it has no frames.")


def _held(sample: Sample) -> Iterator[tuple[Pixels, bool]]:
    """The pixels of each frame, then of the last again and again, marked as repeats."""
    last: Pixels | None = None
    for frame in _read(sample):
        last = frame.pixels
        yield last, False
    while last is not None:
        yield last, True


def _resized(pixels: Pixels, width: int, height: int) -> Pixels:
    if pixels.shape[:2] == (height, width):
        return pixels
    return np.asarray(Image.fromarray(pixels).resize((width, height), Image.Resampling.BILINEAR))


def _resized_mask(mask: Mask, width: int, height: int) -> Mask:
    picture = Image.fromarray(mask.astype(np.uint8)).resize((width, height), Image.Resampling.NEAREST)
    resized: Mask = np.asarray(picture) > 0
    return resized
