"""A mask as one polygon through the middles of its border pixels."""

import numpy as np
import numpy.typing as npt
from contourpy import LineType, contour_generator

from locater.records import Mask
from locater.video.writers.writing import bounding_box

Points = npt.NDArray[np.int64]  # (N, 2): x, y of pixels

# Between a marked pixel (1) and its neighbour (0) the line runs this close to the marked one, so that rounding puts
# it on that pixel's middle. Drawn with its border, as OpenCV's fillPoly does, such a polygon covers the mask exactly.
_LEVEL = 0.999


def polygon_of(mask: Mask) -> Points:
    """The corners of one closed polygon around a mask that is not empty, at least three.

    Parts and holes are joined to it by lines there and back at the shortest distance, as Ultralytics joins the parts
    of COCO's objects; filled by the even-odd rule they stay parts and holes.
    """
    left, top, width, height = bounding_box(mask)
    rings = _rings(mask[top : top + height, left : left + width])
    joined = rings.pop(max(range(len(rings)), key=lambda number: len(rings[number])))
    # Each ring's nearest point of the joined line so far: the squared distance, where it is, and where on the ring.
    links = [_link(joined, ring) for ring in rings]
    path = joined
    while rings:
        number = min(range(len(rings)), key=lambda each: links[each][0])
        ring = rings.pop(number)
        _, here, there = links.pop(number)
        place = int(np.flatnonzero((path == here).all(axis=1))[0])
        start = int(np.flatnonzero((ring == there).all(axis=1))[0])
        around = np.concatenate([ring[start:], ring[: start + 1]])
        path = np.concatenate([path[: place + 1], around, path[place:]])
        links = [
            min(link, _link(ring, other), key=lambda each: each[0]) for link, other in zip(links, rings, strict=True)
        ]
    if len(path) < 3:  # one pixel, or a straight line of them
        path = np.concatenate([path, np.repeat(path[:1], 3 - len(path), axis=0)])
    shifted: Points = path + np.array([left, top])
    return shifted


def _rings(mask: Mask) -> list[Points]:
    """The closed lines around each part and each hole, without the points on straight lines."""
    traced = contour_generator(z=np.pad(mask, 1).astype(np.float32), line_type=LineType.Separate).lines(_LEVEL)
    lines: list[npt.NDArray[np.float64]] = [np.asarray(line) for line in traced]
    return [_corners(np.rint(line).astype(np.int64)[:-1] - 1) for line in lines]


def _corners(ring: Points) -> Points:
    ring = ring[(ring != np.roll(ring, 1, axis=0)).any(axis=1)] if (ring != ring[0]).any() else ring[:1]
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    is_corner = (np.sign(before) != np.sign(after)).any(axis=1)  # steps go to one of eight neighbours
    return ring[is_corner] if is_corner.any() else ring


def _link(one: Points, other: Points) -> tuple[int, Points, Points]:
    """The shortest link between two lines' corners: its squared length and both ends."""
    best: tuple[int, Points, Points] | None = None
    for start in range(0, len(one), 512):  # so that the table of distances stays small
        some = one[start : start + 512]
        distances = ((some[:, None] - other[None]) ** 2).sum(axis=2)
        here, there = np.unravel_index(int(distances.argmin()), distances.shape)
        length = int(distances[here, there])
        if best is None or length < best[0]:
            best = length, some[here], other[there]
    assert best is not None
    return best
