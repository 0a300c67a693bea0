"""The outline of a mask as a path that a page can draw at any size."""

import numpy as np
import numpy.typing as npt

from locater.records import Mask

Point = tuple[int, int]


def outline_path(mask: Mask) -> str:
    """SVG path data around a mask, in its pixels; empty where the mask is.

    It goes through the middles of the pixels' outer edges, so that slopes are slopes and not stairs.
    """
    following = _edges(mask)
    pieces: list[str] = []
    while following:
        corners = _loop(following)
        pieces.append("M" + "L".join(f"{x / 2:g} {y / 2:g}" for x, y in _turns(corners)) + "Z")
    return "".join(pieces)


def _edges(mask: Mask) -> dict[Point, list[Point]]:
    """Where the edges that start in each corner lead, with the mask on their right hand."""
    framed = np.pad(mask, 1)
    inside = framed[1:-1, 1:-1]
    sides: tuple[tuple[npt.NDArray[np.bool_], Point, Point], ...] = (
        (framed[:-2, 1:-1], (0, 0), (1, 0)),  # above, left to right
        (framed[1:-1, 2:], (1, 0), (1, 1)),  # right, downward
        (framed[2:, 1:-1], (1, 1), (0, 1)),
        (framed[1:-1, :-2], (0, 1), (0, 0)),
    )
    following: dict[Point, list[Point]] = {}
    for neighbour, start, end in sides:
        for y, x in np.argwhere(inside & ~neighbour).tolist():
            following.setdefault((x + start[0], y + start[1]), []).append((x + end[0], y + end[1]))
    return following


def _loop(following: dict[Point, list[Point]]) -> list[Point]:
    """The corners of one closed line, whose edges are taken out."""
    first = next(iter(following))
    corners = [first]
    while True:
        ends = following[corners[-1]]
        # Two pixels that touch at a corner only: turn right, so that each keeps a line of its own.
        after = ends[0] if len(ends) == 1 or len(corners) < 2 else _right_turn(corners[-2], corners[-1], ends)
        ends.remove(after)
        if not ends:
            del following[corners[-1]]
        if after == first:
            return corners
        corners.append(after)


def _right_turn(before: Point, at: Point, ends: list[Point]) -> Point:
    ahead = (at[0] - before[0], at[1] - before[1])
    right = (at[0] - ahead[1], at[1] + ahead[0])
    return right if right in ends else ends[0]


def _turns(corners: list[Point]) -> list[Point]:
    """The middles of the edges, doubled to stay whole, without those on a straight line."""
    count = len(corners)
    middles = [(a[0] + b[0], a[1] + b[1]) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
    return [
        middle
        for place, middle in enumerate(middles)
        if _step(middles[place - 1], middle) != _step(middle, middles[(place + 1) % count])
    ]


def _step(start: Point, end: Point) -> Point:
    return end[0] - start[0], end[1] - start[1]
