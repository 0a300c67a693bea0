"""Frames and where they come from: what reading a video needs of the package, and no more.

Processes that decode import this and not torch, so that they begin in no time and hold little.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from locater.errors import LocaterError

Pixels = npt.NDArray[np.uint8]  # (H, W, 3), RGB


@dataclass(frozen=True)
class VideoInfo:
    """What is known of a source before its frames are read; None is unknown."""

    name: str
    width: int | None = None
    height: int | None = None
    frame_count: int | None = None
    frames_per_second: float | None = None
    duration: float | None = None  # seconds
    path: Path | None = None  # the file or the folder of pictures behind it, where there is one


@dataclass(frozen=True)
class Frame:
    """One decoded frame, upright, at its own size."""

    index: int
    timestamp: float  # seconds from the first frame
    pixels: Pixels
    name: str | None = None  # the picture's own file name, where the frame is one


@runtime_checkable
class FrameSource(Protocol):
    """Frames in order, never all held at once."""

    @property
    def info(self) -> VideoInfo:
        """What is known before reading."""
        ...

    @property
    def is_repeatable(self) -> bool:
        """Whether `frames` may be called twice; a camera's may not."""
        ...

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; those between are not converted to pixels."""
        ...


def check_stride(start: int, every: int) -> None:
    """Nothing, for a possible choice of frames."""
    if start < 0 or every < 1:
        raise LocaterError(
            f"Cannot read frames from {start} in steps of {every}; start at 0 or later, step by 1 or more."
        )
