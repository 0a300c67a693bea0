"""Masks redrawn along the edges of the video's own pixels, each in a crop around it.

The network sees the 1,080 lines of a frame in 256; a crop of the frame itself shows the refiner an edge as sharp as it
was filmed.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.compute.crop import Crop, Place, crop_around
from locater.model.visual.refiner import PATCH, SUREST, Refiner, box_around
from locater.records import Pixels
from locater.video.transforms import frames_to_tensor

ENLARGED = 1.5  # of the video's own pixels, at most: small things fill more cells then (dev/LOG.md)
# Of a frame that a mask covers, and of its IoU with what became of it: a large thing may be taken for one of its parts.
LARGE, ALIKE = 0.05, 0.75
ANSWERS = 4  # of the refiner along a side of a cell


@dataclass(frozen=True)
class RedrawnPart:
    """A part of a frame's mask, as fine as it was redrawn."""

    place: Place  # in the frame's own pixels
    logits: Tensor  # (r, c)

    def onto(self, soft: Tensor) -> None:
        """Put it in its place in a soft mask (H, W)."""
        top, bottom, left, right = self.place
        soft[top:bottom, left:right] = _resized(self.logits.float(), (bottom - top, right - left)).sigmoid()


def redrawn(
    refiner: Refiner, pixels: Pixels, logits: Tensor, most_cells: int, whole: tuple[int, int]
) -> tuple[Tensor, tuple[RedrawnPart | None, ...]]:
    """A frame's masks (E, h, w), redrawn in crops of its pixels of about so many cells at most.

    What comes back is as coarse as it was given; beside it, each as fine as it was redrawn. An empty mask stays as it
    is and has no part. In a crop the refiner may take a large thing's part for the thing: where little is left of such
    a mask, or much is new, it is redrawn in the `whole` frame of so many rows and columns of cells.
    """
    each = [_redrawn(refiner, pixels, row.clamp(-SUREST, SUREST), most_cells, whole) for row in logits]
    return torch.stack([coarse for coarse, _ in each]), tuple(part for _, part in each)


def _redrawn(
    refiner: Refiner, pixels: Pixels, first: Tensor, most_cells: int, whole: tuple[int, int]
) -> tuple[Tensor, RedrawnPart | None]:
    mask = first > 0
    if not mask.any():
        return first, None
    height, width = first.shape
    own = ENLARGED * pixels.shape[0] / PATCH, ENLARGED * pixels.shape[1] / PATCH
    seen = max(own, whole, key=math.prod)  # a small video too is seen as large as in whole frames
    crop = crop_around(box_around(mask[None])[0] * max(height, width), height, width, seen, most_cells)
    coarse, part = _in_crop(refiner, pixels, first, crop)
    after = coarse > 0
    if mask.sum() >= LARGE * mask.numel() and (mask & after).sum() < ALIKE * (mask | after).sum():
        return _in_crop(refiner, pixels, first, Crop(0, height, 0, width, *whole))
    return coarse, part


def _in_crop(refiner: Refiner, pixels: Pixels, first: Tensor, crop: Crop) -> tuple[Tensor, RedrawnPart]:
    place = top, bottom, left, right = crop.place(first.shape, pixels.shape[:2])
    size = PATCH * crop.rows, PATCH * crop.columns
    seen = frames_to_tensor([pixels[top:bottom, left:right]], size, first.device)
    asked = _resized(crop.of(first), (ANSWERS * crop.rows, ANSWERS * crop.columns))
    answer = refiner.redrawn(refiner.features(seen.to(first.dtype)), asked[None])[0]
    coarse = first.clone()
    crop.of(coarse).copy_(_resized(answer, (crop.bottom - crop.top, crop.right - crop.left)))
    return coarse, RedrawnPart(place, answer)


def _resized(mask: Tensor, size: tuple[int, int]) -> Tensor:
    """A mask (h, w) at another size: interpolated where it grows, the mean of what falls together where it shrinks.

    PyTorch's filter rounds after each axis, so it works in float32.
    """
    whole = mask.float()[None, None]
    return F.interpolate(whole, size=size, mode="bilinear", align_corners=False, antialias=True)[0, 0].to(mask.dtype)
