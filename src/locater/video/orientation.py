"""Decoded frames as pixels that stand upright: phones film sideways and write a matrix into the file."""

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from locater.frames import Pixels


@dataclass(frozen=True)
class Orientation:
    """One of the eight ways to turn and mirror a picture: exchange the axes first, then mirror each."""

    is_transposed: bool = False
    is_mirrored_in_x: bool = False
    is_mirrored_in_y: bool = False

    def apply(self, pixels: Pixels) -> Pixels:
        """The upright picture, (H, W, 3)."""
        if self == UPRIGHT:
            return pixels
        turned = pixels.transpose(1, 0, 2) if self.is_transposed else pixels
        turned = turned[:: -1 if self.is_mirrored_in_y else 1, :: -1 if self.is_mirrored_in_x else 1]
        return np.ascontiguousarray(turned)

    def upright_size(self, width: int, height: int) -> tuple[int, int]:
        """Width and height after turning."""
        return (height, width) if self.is_transposed else (width, height)


UPRIGHT = Orientation()


def orientation_of(frame: VideoFrame) -> Orientation:
    """What the frame's display matrix asks for.

    `frame.rotation` would not do: it is an angle, and tells a mirrored selfie from an upside-down one wrongly.
    The matrix maps a stored point to a shown one: x' = a x + c y + tx, y' = b x + d y + ty (QuickTime's tkhd box).
    """
    side_data: Any = frame.side_data.get("DISPLAYMATRIX")
    if side_data is None:
        return UPRIGHT
    matrix = np.frombuffer(bytes(side_data), dtype=np.int32).reshape(3, 3)
    (a, b), (c, d) = matrix[:2, :2].tolist()
    if abs(b) + abs(c) > abs(a) + abs(d):
        return Orientation(True, is_mirrored_in_x=c < 0, is_mirrored_in_y=b < 0)
    return Orientation(False, is_mirrored_in_x=a < 0, is_mirrored_in_y=d < 0)


class UprightPixels(threading.local):
    """Decoded frames of one reading as upright RGB pixels, all of the first one's size, whichever thread makes them.

    FFmpeg's tables are made once a thread: with PyAV's own, each frame has new ones, and threads for as many cores as
    there are.
    """

    def __init__(self, width: int, height: int, orientation: Orientation) -> None:
        self._size = width, height
        self._orientation = orientation
        self._reformatter = VideoReformatter()

    def of(self, frame: VideoFrame) -> Pixels:
        """A frame's, (H, W, 3)."""
        width, height = self._size
        rgb = self._reformatter.reformat(frame, width, height, "rgb24", threads=1).to_ndarray()
        return self._orientation.apply(np.asarray(rgb, dtype=np.uint8))
