"""Masks packed into one long integer each, so that J and F are a few shifts and population counts.

A 480p mask is an integer of 410 thousand bits. Shifting it moves the picture, `&` and `|` cut and join pictures, and
`int.bit_count` counts pixels, each in microseconds and exactly: nothing here is rounded, nothing depends on content.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from locater.evaluation.metrics.counts import FrameCounts
from locater.records import Mask

TOLERANCE = 0.008  # of the picture's diagonal: DAVIS's bound_th


@dataclass(frozen=True)
class Layout:
    """Where pixels lie in the integer: pixel (y, x) is bit y * stride + x, `radius` spare bits per row."""

    height: int
    width: int
    radius: int  # the tolerance of F in pixels; the spare bits keep what leaves a row from entering the next
    inner: int  # all pixels but the last row and the last column
    last_row: int  # without the corner
    last_column: int  # without the corner

    @property
    def stride(self) -> int:
        """Bits per row."""
        return self.width + self.radius


@lru_cache(maxsize=64)
def layout_of(height: int, width: int) -> Layout:
    """The layout of a picture size."""
    radius = math.ceil(TOLERANCE * float(np.linalg.norm((height, width))))
    pixels = np.zeros((3, height, width + radius), dtype=np.bool_)
    pixels[0, : height - 1, : width - 1] = True
    pixels[1, height - 1, : width - 1] = True
    pixels[2, : height - 1, width - 1] = True
    inner, last_row, last_column = (_integer(each) for each in pixels)
    return Layout(height, width, radius, inner, last_row, last_column)


class PackedMask:
    """One mask as an integer, with its boundary and the boundary's surroundings worked out once, when asked for."""

    def __init__(self, bits: int, layout: Layout) -> None:
        self.bits = bits
        self.layout = layout

    @classmethod
    def of(cls, mask: Mask) -> "PackedMask":
        """The packed form of an (H, W) mask."""
        layout = layout_of(*mask.shape)
        rows = np.zeros((layout.height, layout.stride), dtype=np.bool_)
        rows[:, : layout.width] = mask
        return cls(_integer(rows), layout)

    def without(self, void: "PackedMask | None") -> "PackedMask":
        """The mask with the pixels of `void` taken out."""
        return self if void is None else PackedMask(self.bits & ~void.bits, self.layout)

    def iou(self, other: "PackedMask") -> float:
        """Intersection over union, from the bits; two empty masks agree wholly."""
        union = (self.bits | other.bits).bit_count()
        return (self.bits & other.bits).bit_count() / union if union else 1.0

    @cached_property
    def area(self) -> int:
        """Pixels inside."""
        return self.bits.bit_count()

    @cached_property
    def boundary(self) -> int:
        """DAVIS's one-pixel boundary: a pixel that differs from its right, lower or lower right neighbour.

        In the last row only the right neighbour counts, in the last column only the lower one, the corner never does:
        so a mask of the whole picture has no boundary.
        """
        bits, stride = self.bits, self.layout.stride
        right = bits ^ bits >> 1
        lower = bits ^ bits >> stride
        diagonal = bits ^ bits >> (stride + 1)
        return (
            (right | lower | diagonal) & self.layout.inner
            | right & self.layout.last_row
            | lower & self.layout.last_column
        )

    @cached_property
    def reach(self) -> int:
        """The pixels within the tolerance of the boundary: its dilation by a disk, plus stray bits between the rows."""
        radius, stride = self.layout.radius, self.layout.stride
        strip, half_width, reached = self.boundary, 0, 0
        # From the disk's topmost row, one pixel wide, to its middle: the strip only ever grows.
        for rise in range(radius, -1, -1):
            wanted = math.isqrt(radius * radius - rise * rise)
            for step in range(half_width + 1, wanted + 1):
                strip |= self.boundary << step | self.boundary >> step
            half_width = wanted
            reached |= strip << rise * stride | strip >> rise * stride
        return reached

    @cached_property
    def boundary_length(self) -> int:
        """Pixels of the boundary."""
        return self.boundary.bit_count()


def compare(predicted: PackedMask, truth: PackedMask, void: PackedMask | None = None) -> FrameCounts:
    """What J and F of a frame are made of; pixels of `void` count for neither."""
    ours, theirs = ((each.layout.height, each.layout.width) for each in (predicted, truth))
    if ours != theirs:
        raise ValueError(f"a predicted mask of {ours} against a true one of {theirs}")
    predicted, truth = predicted.without(void), truth.without(void)
    is_easy = not (predicted.boundary and truth.boundary)  # then nothing can match
    return FrameCounts(
        predicted_area=predicted.area,
        truth_area=truth.area,
        intersection=(predicted.bits & truth.bits).bit_count(),
        predicted_boundary=predicted.boundary_length,
        truth_boundary=truth.boundary_length,
        predicted_matched=0 if is_easy else (predicted.boundary & truth.reach).bit_count(),
        truth_matched=0 if is_easy else (truth.boundary & predicted.reach).bit_count(),
    )


def _integer(rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> int:
    return int.from_bytes(np.packbits(rows.reshape(-1), bitorder="little").tobytes(), "little")
