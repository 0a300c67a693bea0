"""A photograph to compose on: its pixels, and what it shows already."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.worlds.composed.pack.colours import name_colour
from locater.worlds.composed.pack.cutouts import Pixels

MOST_OBJECTS = 250  # of one photograph: their numbers are bytes
LEAST_SHARE = 0.006  # of the photograph: smaller things are there, but nothing is asked about them
TONE_CELLS = 4


@dataclass(frozen=True)
class Shown:
    """A thing that a photograph shows, with its own mask; lengths are fractions of the photograph's sides."""

    number: int  # in the map of numbers
    noun: str
    broader: tuple[str, ...]
    colour: str
    doubtful_colours: tuple[str, ...]
    centre: tuple[float, float]
    box: tuple[float, float, float, float]  # left, top, right, bottom
    share: float  # of the photograph's area


@dataclass(frozen=True)
class Photograph:
    """A photograph squashed to a square, and the things in it."""

    pixels: Pixels  # (S, S, 3)
    numbers: Pixels  # (S, S): which thing a pixel belongs to; 0 is none
    aspect: float  # width by height before it was squashed
    things: tuple[Shown, ...]
    vague: tuple[str, ...]  # nouns of what is there as well, too small, too many or of unknown place
    source: str
    tones: tuple[tuple[float, ...], ...]  # mean colours of a grid of cells, row by row


@dataclass(frozen=True)
class Marked:
    """A mask in a photograph with its names."""

    mask: npt.NDArray[np.bool_]  # (H, W)
    noun: str
    broader: tuple[str, ...]


def photograph(picture: Pixels, marked: Sequence[Marked], vague: Sequence[str], source: str, side: int) -> Photograph:
    """The photograph with its marked things, those that are too small only as vague nouns."""
    height, width = picture.shape[:2]
    square = np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.BOX), dtype=np.uint8)
    numbers = np.zeros((side, side), dtype=np.uint8)
    unclear = list(vague)
    kept: list[Marked] = []
    # Small things are more often in front of large ones than behind them.
    for each in sorted(marked, key=lambda one: -int(one.mask.sum())):
        if each.mask.mean() < LEAST_SHARE or len(kept) == MOST_OBJECTS:
            unclear.append(each.noun)
            continue
        kept.append(each)
        small = Image.fromarray(each.mask.astype(np.uint8) * 255).resize((side, side), Image.Resampling.BOX)
        numbers[np.asarray(small) > 127] = len(kept)
    things = [_shown(number, each, square, numbers) for number, each in enumerate(kept, start=1)]
    unclear += [each.noun for each, thing in zip(kept, things, strict=True) if thing is None]
    cells = square.reshape(TONE_CELLS, side // TONE_CELLS, TONE_CELLS, side // TONE_CELLS, 3).mean(axis=(1, 3)) / 255
    return Photograph(
        pixels=square,
        numbers=numbers,
        aspect=width / height,
        things=tuple(thing for thing in things if thing is not None),
        vague=tuple(dict.fromkeys(unclear)),
        source=source,
        tones=tuple(tuple(round(float(v), 3) for v in cell) for cell in cells.reshape(-1, 3)),
    )


def _shown(number: int, marked: Marked, square: Pixels, numbers: Pixels) -> Shown | None:
    inside = numbers == number
    share = float(inside.mean())
    if share < LEAST_SHARE:
        return None  # others hide it
    side = len(square)
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    ys, xs = np.nonzero(inside)
    colour, doubtful = name_colour(square, inside, marked.noun)
    return Shown(
        number=number,
        noun=marked.noun,
        broader=marked.broader,
        colour=colour,
        doubtful_colours=doubtful,
        centre=(float(xs.mean() + 0.5) / side, float(ys.mean() + 0.5) / side),
        box=(columns[0] / side, rows[0] / side, (columns[-1] + 1) / side, (rows[-1] + 1) / side),
        share=share,
    )
