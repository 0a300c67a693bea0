"""Has what was marked the colours that were said of it? As Locater measures them, in CIELAB."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from locater_lite.pixels import Array
from locater_lite.text.colour_names import COLOUR_WORDS
from locater_lite.text.said_colours import SaidColour

TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)  # D65
COLOURLESS, MOST_COLOURED = 12, 0.01  # levels between red, green and blue in a frame without colours; of its pixels
WITHOUT_COLOUR = ("black", "white", "gray")  # what can be seen in any frame


def measurable(colours: Sequence[SaidColour], pixels: Array, rules: Mapping[str, Any]) -> tuple[SaidColour, ...]:
    """Those of the colours that can be measured in a frame (H, W, 3): in black and white nothing can be red."""
    each = pixels.reshape(-1, 3)
    some = each[:: max(len(each) // rules["most_pixels"], 1)]
    is_coloured = np.quantile(np.ptp(some, axis=-1), 1 - MOST_COLOURED) >= COLOURLESS
    return tuple(colour for colour in colours if is_coloured or colour.word in WITHOUT_COLOUR)


def shares_of(pixels: Array, mask: Array, rules: Mapping[str, Any]) -> Array:
    """How much of what a mask (H, W) marks in a frame (H, W, 3) may be called by each of `COLOUR_WORDS`, (C,)."""
    inside = pixels[mask]
    lab = to_lab(inside[:: max(len(inside) // rules["most_pixels"], 1)] / 255)
    places = np.asarray(rules["colour_places"])  # (P, 4): the word's number, and the place
    off = np.linalg.norm(lab[:, None] - places[:, 1:], axis=-1)  # (N, P)
    nearest = [off[:, places[:, 0] == word].min(1) for word in range(len(COLOUR_WORDS))]
    fit = np.exp(-np.stack(nearest, axis=-1) / rules["colour_softness"])
    shares: Array = np.asarray(rules["colour_counts"]) @ (fit / fit.sum(1, keepdims=True)).mean(0)
    return shares


def verdict_on(colours: Sequence[SaidColour], shares: Array, rules: Mapping[str, Any]) -> float:
    """A logit of colours that were said, the lowest: what is doubted at the least share."""
    least = {False: rules["least_share"], True: rules["least_worn"]}
    found = [(max(float(shares[COLOUR_WORDS.index(word)]), 1e-4), least[is_worn]) for word, is_worn in colours]
    return min((float(rules["carrier_doubted"] + np.log(share / needed)) for share, needed in found), default=0.0)


def to_lab(pixels: Array) -> Array:
    """CIELAB of sRGB pixels in [0, 1], (..., 3)."""
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)
    x, y, z = np.moveaxis(linear @ np.asarray(TO_XYZ).T / WHITE, -1, 0)
    x, y, z = (np.where(v > 0.008856, np.cbrt(v), 7.787 * v + 16 / 116) for v in (x, y, z))
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
