"""Words for colours, from pixels: nearest prototypes in CIELAB, and no word where it is mixed or too close to call."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import torch

from locater.text.colour_names import COLOUR_WORDS, colour_shares
from locater.worlds import grammar
from locater.worlds.composed.pack.nouns import is_person

Floats = npt.NDArray[np.float64]

COLOURS: Mapping[str, tuple[str, ...]] = {
    **{word: said for word, said in grammar.COLOURS.items() if word != "yellow"},
    "yellow": ("yellow",),  # a golden dog is brown
    "brown": ("brown",),
    "gray": ("gray", "grey"),
}
SAID_SHARE, SAID_LEAD = 0.5, 0.25
DOUBTFUL_SHARE = 0.1
_SKIN = frozenset(("brown", "pink", "orange"))  # of people, these are never said: they may be skin or hair
UPPER_BODY = (0.2, 0.6)  # of a person's height
CLOTHES_SHARE, CLOTHES_LEAD = 0.35, 0.15
_CLOTHES_DOUBTFUL_SHARE = 0.05
MOST_PIXELS = 1000


def name_colour(
    picture: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_], noun: str
) -> tuple[str, tuple[str, ...]]:
    """The word for the colour of a thing, "" when mixed, and the words that might be said as well.

    `picture` is (H, W, 3) and `inside` (H, W). Of a person it is the colour of what is worn on the upper body.
    """
    if not inside.any():
        return "", COLOUR_WORDS
    shares = _shares(_some(picture[inside]))
    if is_person(noun):
        return _clothes_colour(picture, inside, shares)
    order = np.argsort(-shares)
    first, second = shares[order[0]], shares[order[1]]
    word = COLOUR_WORDS[order[0]] if first >= SAID_SHARE and first - second >= SAID_LEAD else ""
    return word, _doubtful(shares, DOUBTFUL_SHARE, word)


def _clothes_colour(
    picture: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_], of_all: Floats
) -> tuple[str, tuple[str, ...]]:
    rows = np.flatnonzero(inside.any(axis=1))
    low, high = (rows[0] + round(part * (rows[-1] - rows[0])) for part in UPPER_BODY)
    upper = inside[low : high + 1]
    shares = _shares(_some(picture[low : high + 1][upper])) if upper.any() else of_all
    order = [index for index in np.argsort(-shares) if COLOUR_WORDS[index] not in _SKIN]
    first, second = shares[order[0]], shares[order[1]]
    word = COLOUR_WORDS[order[0]] if first >= CLOTHES_SHARE and first - second >= CLOTHES_LEAD else ""
    # Trousers, hats and bags have colours, too, and nobody knows where skin ends.
    maybe = {*_doubtful(shares, _CLOTHES_DOUBTFUL_SHARE, word), *_doubtful(of_all, _CLOTHES_DOUBTFUL_SHARE, word)}
    return word, tuple(sorted(maybe | _SKIN))


def _some(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return pixels[:: max(len(pixels) // MOST_PIXELS, 1)]


def _doubtful(shares: Floats, least: float, word: str) -> tuple[str, ...]:
    return tuple(sorted(w for w, share in zip(COLOUR_WORDS, shares, strict=True) if share >= least and w != word))


def _shares(pixels: npt.NDArray[np.uint8]) -> Floats:
    """How much of the pixels (N, 3) each word takes, summing to 1."""
    return np.asarray(colour_shares(torch.from_numpy(pixels) / 255).mean(dim=0).numpy(), dtype=np.float64)
