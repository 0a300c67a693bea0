"""Has what was marked the colours that were said of it?

Colours are measured, not recognised: a network that finds the only car of a video finds it whatever colour is said.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from locater.records import Mask, Pixels
from locater.text.colour_names import COLOUR_WORDS, colour_shares
from locater.text.said_colours import SaidColour

MOST_PIXELS = 3000  # of a mask that are looked at
# A share of a mask's pixels that have a colour, below which it is doubted that the thing has it, and how much those
# count that have one into which it passes in shade or in the sun. Chosen on 320 phrases of COCO val's captions that
# `coco-val` does not ask for (`python -m experiments.words.colours_said`).
LEAST_SHARE, NEARBY_COUNTS = 0.02, 0.1
LEAST_WORN = LEAST_SHARE / 2  # of clothes, which are a part of the thing
# A frame is without colours where the lowest and the highest of red, green and blue are less than so many levels apart
# in all pixels but a hundredth: compression and scanning make a few levels of gray, and a stamp may be in colour.
COLOURLESS, MOST_COLOURED = 12, 0.01
WITHOUT_COLOUR = ("black", "white", "gray")  # what can be seen in any frame
NEARBY: Mapping[str, tuple[str, ...]] = {
    "red": ("orange", "brown", "pink"),
    "orange": ("brown", "red", "yellow"),
    "yellow": ("brown", "orange"),
    "green": ("cyan", "yellow"),
    "cyan": ("blue", "green"),
    "blue": ("cyan", "purple"),
    "purple": ("blue", "pink"),
    "pink": ("red", "purple", "orange"),
    "white": ("gray",),
    "black": ("gray",),
    "gray": ("white", "black", "blue"),
    "brown": ("orange", "yellow", "red", "black", "gray"),
}
COUNTS = torch.eye(len(COLOUR_WORDS))  # (C, C): by what is said, how much pixels of each colour count
for _word, _others in NEARBY.items():
    for _other in _others:
        COUNTS[COLOUR_WORDS.index(_word), COLOUR_WORDS.index(_other)] = NEARBY_COUNTS


def measurable(colours: Sequence[SaidColour], pixels: Pixels) -> tuple[SaidColour, ...]:
    """Those of the colours that can be measured in a frame (H, W, 3): in black and white nothing can be red."""
    each = pixels.reshape(-1, 3)
    some = each[:: max(len(each) // MOST_PIXELS, 1)]
    is_coloured = np.quantile(np.ptp(some, axis=-1), 1 - MOST_COLOURED) >= COLOURLESS
    return tuple(colour for colour in colours if is_coloured or colour.word in WITHOUT_COLOUR)


def shares_of(pixels: Pixels, mask: Mask) -> Tensor:
    """How much of what a mask (H, W) marks in a frame (H, W, 3) may be called by each of `COLOUR_WORDS`, (C,)."""
    inside = pixels[mask]
    some = np.ascontiguousarray(inside[:: max(len(inside) // MOST_PIXELS, 1)])
    shares: Tensor = COUNTS @ colour_shares(torch.from_numpy(some).float() / 255).mean(0)
    return shares


def verdict_on(colours: Sequence[SaidColour], shares: Tensor, doubted: float) -> float:
    """A logit of colours that were said, the lowest; `doubted` at the least share, at most 0 or so."""
    least = {False: LEAST_SHARE, True: LEAST_WORN}
    found = [(float(shares[COLOUR_WORDS.index(word)]), least[is_worn]) for word, is_worn in colours]
    return min((doubted + math.log(max(share, 1e-4) / needed) for share, needed in found), default=0.0)
