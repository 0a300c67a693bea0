"""Words for colours, from pixels: nearest prototypes in CIELAB, and no word where it is mixed or too close to call."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from locater.worlds import grammar
from locater.worlds.composed.nouns import is_person

Floats = npt.NDArray[np.float64]

COLOURS: Mapping[str, tuple[str, ...]] = {
    **{word: said for word, said in grammar.COLOURS.items() if word != "yellow"},
    "yellow": ("yellow",),  # a golden dog is brown
    "brown": ("brown",),
    "gray": ("gray", "grey"),
}
# sRGB; several where a word spans much, as brown from tan to dark wood.
PROTOTYPES = (
    ("red", (200, 30, 35)), ("red", (140, 20, 25)), ("red", (225, 70, 65)),
    ("red", (160, 45, 40)), ("red", (115, 35, 32)),
    ("orange", (240, 130, 30)), ("orange", (225, 105, 25)),
    ("yellow", (245, 215, 50)), ("yellow", (215, 185, 40)), ("yellow", (250, 230, 130)),
    ("green", (50, 140, 55)), ("green", (30, 80, 40)), ("green", (130, 180, 80)), ("green", (85, 100, 45)),
    ("cyan", (70, 200, 205)), ("cyan", (30, 130, 135)),
    ("blue", (35, 70, 180)), ("blue", (25, 40, 95)), ("blue", (100, 150, 215)),
    ("purple", (110, 50, 150)), ("purple", (165, 120, 200)), ("purple", (70, 35, 90)),
    ("pink", (240, 130, 180)), ("pink", (235, 175, 190)), ("pink", (225, 75, 140)),
    ("white", (245, 245, 245)), ("white", (222, 222, 220)),
    ("black", (15, 15, 15)), ("black", (42, 41, 42)),
    ("gray", (120, 120, 120)), ("gray", (165, 165, 165)), ("gray", (85, 85, 87)),
    ("brown", (110, 70, 40)), ("brown", (70, 45, 30)), ("brown", (160, 115, 75)), ("brown", (195, 155, 110)),
    ("brown", (135, 80, 50)),
)  # fmt: skip
_WORDS = tuple(dict.fromkeys(word for word, _ in PROTOTYPES))
_SOFTNESS = 7.0  # CIELAB units within which two words are about as good
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
        return "", _WORDS
    shares = _shares(_some(picture[inside]))
    if is_person(noun):
        return _clothes_colour(picture, inside, shares)
    order = np.argsort(-shares)
    first, second = shares[order[0]], shares[order[1]]
    word = _WORDS[order[0]] if first >= SAID_SHARE and first - second >= SAID_LEAD else ""
    return word, _doubtful(shares, DOUBTFUL_SHARE, word)


def _clothes_colour(
    picture: npt.NDArray[np.uint8], inside: npt.NDArray[np.bool_], of_all: Floats
) -> tuple[str, tuple[str, ...]]:
    rows = np.flatnonzero(inside.any(axis=1))
    low, high = (rows[0] + round(part * (rows[-1] - rows[0])) for part in UPPER_BODY)
    upper = inside[low : high + 1]
    shares = _shares(_some(picture[low : high + 1][upper])) if upper.any() else of_all
    order = [index for index in np.argsort(-shares) if _WORDS[index] not in _SKIN]
    first, second = shares[order[0]], shares[order[1]]
    word = _WORDS[order[0]] if first >= CLOTHES_SHARE and first - second >= CLOTHES_LEAD else ""
    # Trousers, hats and bags have colours, too, and nobody knows where skin ends.
    maybe = {*_doubtful(shares, _CLOTHES_DOUBTFUL_SHARE, word), *_doubtful(of_all, _CLOTHES_DOUBTFUL_SHARE, word)}
    return word, tuple(sorted(maybe | _SKIN))


def _some(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return pixels[:: max(len(pixels) // MOST_PIXELS, 1)]


def _doubtful(shares: Floats, least: float, word: str) -> tuple[str, ...]:
    return tuple(sorted(w for w, share in zip(_WORDS, shares, strict=True) if share >= least and w != word))


def _shares(pixels: npt.NDArray[np.uint8]) -> Floats:
    """How much of the pixels each word takes, summing to 1."""
    distances = np.linalg.norm(to_lab(pixels)[:, None] - _PROTOTYPE_LAB[None], axis=2)  # (N, P)
    by_word = np.stack([distances[:, index == _WORD_OF_PROTOTYPE].min(axis=1) for index in range(len(_WORDS))], axis=1)
    weights = np.exp(-(by_word - by_word.min(axis=1, keepdims=True)) / _SOFTNESS)
    return np.asarray((weights / weights.sum(axis=1, keepdims=True)).mean(axis=0))


def to_lab(pixels: npt.NDArray[np.uint8]) -> Floats:
    """CIELAB (D65) of sRGB pixels, (..., 3)."""
    rgb = pixels.astype(np.float64) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _TO_XYZ.T / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)


_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_PROTOTYPE_LAB = to_lab(np.array([rgb for _, rgb in PROTOTYPES], dtype=np.uint8))
_WORD_OF_PROTOTYPE = np.array([_WORDS.index(word) for word, _ in PROTOTYPES])
