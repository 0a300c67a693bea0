"""Pictures and masks in other sizes, as PyTorch computes them."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

Array = npt.NDArray[Any]
Refine = Callable[[Array, Array], Array]  # redraws masks (1, h, w) in a picture (1, 3, S, S')
Cells = tuple[int, int]  # rows and columns
Place = tuple[int, int, int, int]  # top, bottom, left and right
PATCH = 16  # pixels of a cell that a refiner sees
ANSWERS = 4  # of a refiner along a side of a cell
SUREST = 8.0  # a logit beyond it says no more
MARGIN, LEAST_MARGIN, LEAST_CELLS = 0.15, 2, 6  # around a box: of its longer side, pixels of the mask; of a crop's side


class Part(NamedTuple):
    """A part of a frame's mask, as fine as it was redrawn."""

    place: Place  # in the frame's own pixels
    logits: Array  # (1, r, c)

    def onto(self, soft: Array) -> None:
        """Put it in its place in a soft mask (H, W)."""
        top, bottom, left, right = self.place
        soft[top:bottom, left:right] = 1 / (1 + np.exp(-shrunk(self.logits, bottom - top, right - left)[0]))


Redrawn = tuple[Array, Part | None]  # a mask as coarse as it was, and its part


def shrunk(planes: Array, height: int, width: int) -> Array:
    """Planes (C, H, W) at another size, float32: bilinear, and the mean of what falls together where they shrink."""
    images = (Image.fromarray(np.ascontiguousarray(plane, dtype=np.float32)) for plane in planes)
    return np.stack([np.asarray(image.resize((width, height), Image.Resampling.BILINEAR)) for image in images])


def enlarged(maps: Array, height: int, width: int) -> Array:
    """Maps (N, h, w) at another size, bilinear between pixels' centres."""
    for axis, size in ((1, height), (2, width)):
        places = ((np.arange(size) + 0.5) * (maps.shape[axis] / size) - 0.5).clip(0)
        low = np.minimum(places.astype(int), maps.shape[axis] - 1)
        weight = (places - low).astype(np.float32).reshape((-1, 1) if axis == 1 else (-1,))
        high = np.minimum(low + 1, maps.shape[axis] - 1)
        maps = maps.take(low, axis) * (1 - weight) + maps.take(high, axis) * weight
    return maps


def input_size(pixels: Array, settings: dict[str, Any]) -> tuple[int, int]:
    """Rows and columns of pixels in which the network sees a frame (H, W, 3)."""
    height, width, _ = pixels.shape
    patch, widest = settings["patch_size"], settings["widest"]
    stretch = math.sqrt(min(max(width / height, 1 / widest), widest))
    sides = settings["image_size"] / stretch, settings["image_size"] * stretch
    rows, columns = (max(1, round(side / patch)) * patch for side in sides)
    return rows, columns


def cells_of(frame: Array, times: float) -> tuple[int, int]:
    """Rows and columns of cells in which a refiner sees a frame (3, S, S'), so many times as large as it is."""
    rows, columns = (max(1, round(side * times / PATCH)) for side in frame.shape[1:])
    return rows, columns


def redrawn(refine: Refine, pixels: Array, logits: Array, rules: dict[str, Any], whole: Cells) -> Redrawn:
    """`logits` (h, w) redrawn in a crop of their frame (H, W, 3), and as fine as they were redrawn there.

    A large thing of which little is left, or to which much is new, is redrawn in the `whole` frame.
    """
    first = logits.clip(-SUREST, SUREST)
    mask = first > 0
    if not mask.any():
        return first, None
    height, width = first.shape
    own = [rules["own_enlarged"] * side / PATCH for side in pixels.shape[:2]]
    seen = max(own, whole, key=math.prod)  # a small video too is seen as large as in whole frames
    box = _box_around(mask)
    margin = max(LEAST_MARGIN, MARGIN * max(box[2] - box[0], box[3] - box[1]))
    left, top = (max(0, math.floor(edge - margin)) for edge in box[:2])
    right, bottom = (min(most, math.ceil(edge + margin)) for edge, most in zip(box[2:], (width, height), strict=True))
    across, down = (right - left) * seen[1] / width, (bottom - top) * seen[0] / height  # cells, as in the frame
    less = min(1.0, math.sqrt(rules["refined_cells"] / (down * across)))
    rows, columns = (max(LEAST_CELLS, 2 * round(less * side / 2)) for side in (down, across))
    coarse, part = _in_crop(refine, pixels, first, (top, bottom, left, right), (rows, columns))
    after = coarse > 0
    if mask.sum() >= rules["large"] * mask.size and (mask & after).sum() < rules["alike"] * (mask | after).sum():
        return _in_crop(refine, pixels, first, (0, height, 0, width), whole)
    return coarse, part


def _in_crop(refine: Refine, pixels: Array, first: Array, crop: Place, cells: Cells) -> tuple[Array, Part]:
    """A mask redrawn in a part of it that is seen in so many cells."""
    (top, bottom, left, right), (rows, columns) = crop, cells
    y, x = pixels.shape[0] / first.shape[0], pixels.shape[1] / first.shape[1]
    place = *_whole_pixels(top * y, bottom * y), *_whole_pixels(left * x, right * x)
    planes = pixels[place[0] : place[1], place[2] : place[3]].transpose(2, 0, 1)
    picture = (shrunk(planes, PATCH * rows, PATCH * columns)[None] / 255).clip(0, 1)
    answer = refine(picture, shrunk(first[None, top:bottom, left:right], ANSWERS * rows, ANSWERS * columns))
    coarse = first.copy()
    coarse[top:bottom, left:right] = shrunk(answer, bottom - top, right - left)[0]
    return coarse, Part(place, answer)


def _whole_pixels(start: float, stop: float) -> tuple[int, int]:
    """A range of pixels, one at least."""
    first, last = round(start), round(stop)
    return (first, last) if first < last else (math.floor(start), math.floor(start) + 1)


def _box_around(mask: Array) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of a mask that is not empty, but for specks where there is more than specks."""
    padded = np.pad(mask.astype(np.float32), 2)
    core = np.lib.stride_tricks.sliding_window_view(padded, (5, 5)).mean((-2, -1)) > 0.5
    kept = core if core.any() else mask
    rows, columns = np.flatnonzero(kept.any(1)), np.flatnonzero(kept.any(0))
    edges = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float32)
    longer = np.float32(max(mask.shape))
    left, top, right, bottom = (edges / longer * longer).tolist()  # rounded as the network's own box is
    return left, top, right, bottom
