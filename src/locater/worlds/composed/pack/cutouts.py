"""From a picture and a mask to a cut-out: cropped, feathered, measured."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from locater.worlds.composed.pack.colours import name_colour
from locater.worlds.motion import OUTER_RADIUS

Alpha = npt.NDArray[np.float32]  # (H, W) in [0, 1]
Pixels = npt.NDArray[np.uint8]

LEAST_SIDE = 36  # pixels in the source: smaller ones have no detail
MOST_REACH = 2.3  # how far it goes from its middle, in radii of a disc of its area: poles and bats do not fit a frame
LEAST_PIECE = 0.95  # of its area, in one piece: else something in front of it cuts it up
MOST_ON_BORDER = 0.06  # of its outline, on the picture's border: more is cut off


@dataclass(frozen=True)
class CutOut:
    """One thing without its surroundings."""

    pixels: Pixels  # (H, W, 4): RGB with alpha, not premultiplied
    noun: str
    broader: tuple[str, ...]
    colour: str  # "" when mixed
    doubtful_colours: tuple[str, ...]
    source: str  # the image it comes from: its split hangs on it
    is_sprite: bool
    centre: tuple[float, float]  # of its pixels, from the top left corner
    radius: float  # of a disc of its area, in pixels
    reach: float  # `Actor.reach`
    tone: tuple[float, float, float]  # mean colour in [0, 1]


def cut_out(
    picture: Pixels, alpha: Alpha, side: int, noun: str, broader: tuple[str, ...], source: str, is_sprite: bool = False
) -> CutOut | None:
    """The thing under `alpha` at most `side` pixels long; None where it is tiny, cut off by the border or too long."""
    inside = alpha > 0.5
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if len(rows) == 0:
        return None
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    if not is_sprite and (max(bottom - top, right - left) < LEAST_SIDE or on_border(inside) > MOST_ON_BORDER):
        return None
    if not is_sprite and largest_piece(inside[top:bottom, left:right]) < LEAST_PIECE:
        return None
    margin = 2
    top, left = max(top - margin, 0), max(left - margin, 0)
    box = (slice(top, bottom + margin), slice(left, right + margin))
    rgba = _resized(np.dstack([picture[box], (alpha[box] * 255).round().astype(np.uint8)]), side)
    if not is_sprite:
        rgba[..., 3] = _feathered(rgba[..., 3])
    return _measured(rgba, noun, broader, source, is_sprite)


@dataclass(frozen=True)
class Pieces:
    """A mask's connected pieces, seen on a coarse grid."""

    grid: tuple[int, int]
    cells: tuple[frozenset[tuple[int, int]], ...]  # of each piece: row, column

    def largest(self, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        """The largest piece's surroundings, a cell wider than it, for a mask of this (H, W)."""
        near = np.zeros(self.grid, dtype=np.bool_)
        largest = max(self.cells, key=len, default=frozenset())
        for y, x in largest:
            near[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2] = True
        for y, x in (cell for piece in self.cells if piece is not largest for cell in piece):
            near[y, x] = False
        image = Image.fromarray(near.astype(np.uint8)).resize((shape[1], shape[0]), Image.Resampling.NEAREST)
        return np.asarray(image) > 0


def pieces(inside: npt.NDArray[np.bool_]) -> Pieces:
    """The connected pieces of an (H, W) mask on a grid of at most 40 x 40 cells."""
    image = Image.fromarray(inside.astype(np.uint8) * 255)
    image.thumbnail((40, 40), Image.Resampling.BOX)
    left = {(int(y), int(x)) for y, x in zip(*np.nonzero(np.asarray(image) > 100), strict=True)}
    found = []
    while left:
        edge = [left.pop()]
        piece = set(edge)
        while edge:
            y, x = edge.pop()
            near = left & {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)}
            left -= near
            piece |= near
            edge += near
        found.append(frozenset(piece))
    return Pieces((image.height, image.width), tuple(found))


def largest_piece(inside: npt.NDArray[np.bool_]) -> float:
    """The share of a mask's area that its largest connected piece has, seen coarsely."""
    sizes = [len(piece) for piece in pieces(inside).cells]
    return max(sizes, default=0) / max(sum(sizes), 1)


def on_border(inside: npt.NDArray[np.bool_]) -> float:
    """The share of a mask's outline that lies on the picture's border."""
    border = int(inside[0].sum() + inside[-1].sum() + inside[:, 0].sum() + inside[:, -1].sum())
    across = (inside[1:] != inside[:-1]).sum() + (inside[:, 1:] != inside[:, :-1]).sum()
    return border / max(border + int(across), 1)


def _resized(rgba: Pixels, side: int) -> Pixels:
    """At most `side` - 4 pixels long inside a clear rim, scaled with premultiplied colours."""
    height, width = rgba.shape[:2]
    scale = min((side - 4) / max(height, width), 1.0)
    size = (max(round(width * scale), 1), max(round(height * scale), 1))
    image = Image.fromarray(rgba, "RGBA").convert("RGBa").resize(size, Image.Resampling.BOX if scale < 0.5 else None)
    framed = Image.new("RGBA", (size[0] + 4, size[1] + 4))
    framed.paste(image.convert("RGBA"), (2, 2))
    return np.array(framed)


def _feathered(alpha: Pixels) -> Pixels:
    """The alpha drawn in by about a pixel, with a soft edge: the outermost pixels hold what was behind."""
    blurred = np.asarray(Image.fromarray(alpha).filter(ImageFilter.GaussianBlur(1.1)), dtype=np.float32) / 255
    soft = np.clip((blurred - 0.45) / 0.5, 0.0, 1.0)
    return np.asarray((np.minimum(soft, alpha / 255) * 255).round(), dtype=np.uint8)


def _measured(rgba: Pixels, noun: str, broader: tuple[str, ...], source: str, is_sprite: bool) -> CutOut | None:
    weights = rgba[..., 3].astype(np.float64) / 255
    area = float(weights.sum())
    if area < 64:
        return None
    ys, xs = np.mgrid[: rgba.shape[0], : rgba.shape[1]] + 0.5
    x, y = float((xs * weights).sum() / area), float((ys * weights).sum() / area)
    radius = math.sqrt(area / math.pi)
    inside = weights > 0.5
    if not inside.any():
        return None
    farthest = float(np.hypot(xs - x, ys - y)[inside].max()) / radius
    if farthest > MOST_REACH:
        return None
    colour, doubtful = name_colour(rgba[..., :3], weights > 0.9, noun)
    tone = (rgba[..., :3] * weights[..., None]).sum(axis=(0, 1)) / area / 255
    return CutOut(
        pixels=rgba,
        noun=noun,
        broader=broader,
        colour=colour,
        doubtful_colours=doubtful,
        source=source,
        is_sprite=is_sprite,
        centre=(x, y),
        radius=radius,
        reach=max(farthest / OUTER_RADIUS, 0.9),
        tone=(float(tone[0]), float(tone[1]), float(tone[2])),
    )
