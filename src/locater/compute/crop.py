"""Where a refiner looks: a crop of the frame around a mask, and how large it is seen."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

MARGIN = 0.15  # of a box's longer side, on every side of it: an edge is seen with what is beyond it
LEAST_MARGIN = 2  # pixels of the mask
LEAST_CELLS = 6  # along a side
EVEN = 2  # cells: sides are multiples of it, so that shapes, for which kernels are made, come again

Place = tuple[int, int, int, int]  # top, bottom, left, right


@dataclass(frozen=True)
class Crop:
    """A part of a mask, in its pixels, and the cells in which it is seen."""

    top: int
    bottom: int
    left: int
    right: int
    rows: int
    columns: int

    def of(self, mask: Tensor) -> Tensor:
        """The part of `mask` (..., h, w), a view of it."""
        return mask[..., self.top : self.bottom, self.left : self.right]

    def place(self, mask: Sequence[int], frame: Sequence[int]) -> Place:
        """The same part of a frame of another size, a pixel at least: where a mask has (h, w) pixels, it has (H, W)."""
        down, across = frame[0] / mask[0], frame[1] / mask[1]
        return *_pixels(self.top * down, self.bottom * down), *_pixels(self.left * across, self.right * across)


def crop_around(box: Tensor, height: int, width: int, whole: tuple[float, float], most_cells: int) -> Crop:
    """The crop of a mask of `height` x `width` around a box (2, 2), left and top, right and bottom, in its pixels.

    It is seen as large as in the `whole` frame of so many rows and columns of cells, smaller where it would have more
    than about `most_cells` then.
    """
    left, top, right, bottom = box.flatten().tolist()
    margin = max(LEAST_MARGIN, MARGIN * max(right - left, bottom - top))
    top, bottom = max(0, math.floor(top - margin)), min(height, math.ceil(bottom + margin))
    left, right = max(0, math.floor(left - margin)), min(width, math.ceil(right + margin))
    rows, columns = (bottom - top) * whole[0] / height, (right - left) * whole[1] / width
    shrunk = min(1.0, math.sqrt(most_cells / (rows * columns)))
    return Crop(top, bottom, left, right, *(_even(shrunk * side) for side in (rows, columns)))


def _pixels(start: float, stop: float) -> tuple[int, int]:
    first, last = round(start), round(stop)
    return (first, last) if first < last else (math.floor(start), math.floor(start) + 1)


def _even(cells: float) -> int:
    return max(LEAST_CELLS, EVEN * round(cells / EVEN))
