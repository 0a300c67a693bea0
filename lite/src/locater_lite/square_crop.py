"""Squares cut from pictures around a thing."""

import numpy as np
from PIL import Image

from locater_lite.pixels import Array as Mask
from locater_lite.pixels import Array as Pixels

GROWN = 1.15  # times the box: a little of what is around tells what a thing is
GREY = 127  # beyond the picture's edge
_OUTLIERS = 0.01  # of a mask's pixels on each side: specks do not count


def square_crop(
    pixels: Pixels, box: tuple[float, float, float, float], side: int, pixel_aspect: float = 1.0, grown: float = GROWN
) -> Pixels:
    """The square (side, side, 3) around a box (left, top, right, bottom); `pixel_aspect` is a pixel's width by height.

    It is `grown` times as long as the box's longer side; what lies beyond the picture is grey.
    """
    height, width = pixels.shape[:2]
    left, top, right, bottom = box
    length = max((right - left) * pixel_aspect, bottom - top, 1.0) * grown
    x_reach, y_reach = length / pixel_aspect / 2, length / 2
    x, y = (left + right) / 2 - x_reach, (top + bottom) / 2 - y_reach
    inside = (max(x, 0.0), max(y, 0.0), min(x + 2 * x_reach, width), min(y + 2 * y_reach, height))
    columns = [round((edge - x) / (2 * x_reach) * side) for edge in (inside[0], inside[2])]
    rows = [round((edge - y) / (2 * y_reach) * side) for edge in (inside[1], inside[3])]
    square = np.full((side, side, 3), GREY, dtype=np.uint8)
    if columns[1] > columns[0] and rows[1] > rows[0]:
        size = (columns[1] - columns[0], rows[1] - rows[0])
        square[rows[0] : rows[1], columns[0] : columns[1]] = np.asarray(
            Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC, box=inside)
        )
    return square


def core_box(mask: Mask) -> tuple[float, float, float, float]:
    """The box around a mask that is not empty, but for a hundredth of its pixels on each side."""
    left, right = _extent(mask.sum(axis=0))
    top, bottom = _extent(mask.sum(axis=1))
    return float(left), float(top), float(right), float(bottom)


def _extent(counts: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> tuple[int, int]:
    """The first place and the one after the last that are not among a hundredth at the ends."""
    share = np.cumsum(counts) / counts.sum()
    return int(np.searchsorted(share, _OUTLIERS)), int(np.searchsorted(share, 1 - _OUTLIERS)) + 1
