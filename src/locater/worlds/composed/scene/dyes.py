"""Colours that things are dyed in, so that what photographs seldom show is spoken of as often as the rest.

Of five thousand cut-outs a dozen were orange and three were cyan: a network took such a word for a sign that nothing is
meant.
"""

from dataclasses import dataclass, replace
from random import Random

import numpy as np
import torch
from torch import Tensor

from locater.text.colour_names import PROTOTYPES
from locater.worlds.composed.pack.colours import UPPER_BODY, name_colour
from locater.worlds.motion import Actor

DYED_SHARE = 0.2  # of things and cut-outs; their own colours are most often gray or brown
_DULL = frozenset(("white", "black", "gray", "brown"))  # photographs are full of them
_STRENGTH = 0.9  # the rest is the thing's own colour
_HEM = 0.04  # of a person's height, over which a dye fades out
_SHINE = 0.35  # how fast what is brighter than the whole goes to white
_MOST_SHINE = 0.6
_LUMA = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class Dye:
    """A colour with its word."""

    word: str
    rgb: tuple[float, float, float]
    doubtful: frozenset[str]  # words that might be said as well


def dyed(pixels: Tensor, cover: Tensor, rgb: Tensor) -> Tensor:
    """Pixels (K, 3, H, W) in [0, 1] in the colours (K, 3) where `cover` (K, 1, H, W) is 1; light and shade stay."""
    luma = torch.einsum("kchw,c->khw", pixels, pixels.new_tensor(_LUMA)).unsqueeze(1)
    mean = (luma * cover).sum(dim=(2, 3), keepdim=True) / cover.sum(dim=(2, 3), keepdim=True).clamp(min=1)
    brightness = luma / mean.clamp(min=0.02)
    colour = rgb[..., None, None]
    shine = ((brightness - 1) * _SHINE).clamp(0, _MOST_SHINE)
    return torch.lerp(pixels, colour * brightness.clamp(max=1) + (1 - colour) * shine, _STRENGTH * cover)


def upper_body(cover: Tensor) -> Tensor:
    """The part (K, 1, H, W) of people's `cover` that holds most of what they wear."""
    rows = torch.arange(cover.shape[2], device=cover.device)
    has_some = (cover > 0).any(dim=3).squeeze(1)  # (K, H)
    top = torch.where(has_some, rows, cover.shape[2]).amin(dim=1, keepdim=True)
    height = torch.where(has_some, rows, -1).amax(dim=1, keepdim=True) - top
    place = (rows - top) / height.clamp(min=1)  # (K, H): from 0, the head, to 1
    low, high = UPPER_BODY
    inside = ((place - low) / _HEM).clamp(0, 1) * ((high - place) / _HEM).clamp(0, 1)
    return cover * inside[:, None, :, None]


def draw_dye(rng: Random, words: frozenset[str] | None = None) -> int:
    """A number in `DYES`, each word as often as another; only of some words where they are given."""
    word = rng.choice(sorted(_NUMBERS.keys() if words is None else words & _NUMBERS.keys()))
    return rng.choice(_NUMBERS[word])


def maybe_dye(rng: Random) -> int:
    """Now and then a dye's number; mostly -1, none."""
    return draw_dye(rng) if rng.random() < DYED_SHARE else -1


def in_dye(actor: Actor, dye: int) -> Actor:
    """The actor in the colour of a dye; as it is where there is none."""
    return replace(actor, colour=DYES[dye].word, dye=dye) if dye >= 0 else actor


def _made() -> list[Dye]:
    """A dye for every prototype whose name is still the same in light and shade."""
    found = []
    ramp = torch.linspace(0.3, 0.9, 64).expand(1, 3, 1, 64)  # gray from shade to light
    for word, triple in PROTOTYPES:
        red, green, blue = (value / 255 for value in triple)
        shades = dyed(ramp, torch.ones(1, 1, 1, 64), torch.tensor([[red, green, blue]]))
        pixels = (shades[0].permute(1, 2, 0) * 255).round().numpy().astype(np.uint8)
        said, doubtful = name_colour(pixels, np.ones(pixels.shape[:2], dtype=np.bool_), "thing")
        if said == word and word not in _DULL:
            found.append(Dye(word, (red, green, blue), frozenset(doubtful)))
    return found


DYES = tuple(_made())
_NUMBERS = {word: [n for n, dye in enumerate(DYES) if dye.word == word] for word in {dye.word for dye in DYES}}
DYE_WORDS = frozenset(_NUMBERS)
