"""DAVIS made small: each sequence shows a thing in a colour of its own, which tells where its mask is."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.datasets.davis import described_sequences
from locater.records import Mask, Pixels

FRAMES = 3
UNSEEN = "surf"  # its thing has left the last frame, as in the real sequence
_BLUE = 100  # of every thing and of nothing else, also where a picture is made smaller


def colour_of(sequence: str) -> npt.NDArray[np.uint8]:
    """The colour of a sequence's thing."""
    place = list(described_sequences()).index(sequence)
    return np.array([8 * place, 255 - 8 * place, _BLUE], np.uint8)


def true_mask(sequence: str, index: int) -> Mask:
    """A box that moves; sequences differ in width."""
    place = list(described_sequences()).index(sequence)
    mask = np.zeros((36, 48 + 2 * (place % 4)), np.bool_)
    if sequence != UNSEEN or index < FRAMES - 1:
        mask[8 + index : 28, 10 + 3 * index : 30 + place % 5] = True
    return mask


def things_in(pixels: Pixels) -> Mask:
    """Every thing, whichever it is."""
    mask: Mask = pixels[..., 2] == _BLUE
    return mask


def make_davis(root: Path, inside: str = "", leap: int = 2) -> None:
    """All sequences; `inside` is the official folder of a size, `leap` the step of the frames' numbers."""
    for sequence in described_sequences():
        pictures = root / "JPEGImages" / inside / sequence
        masks = root / "Annotations" / inside / sequence
        for folder in (pictures, masks):
            folder.mkdir(parents=True)
        for index in range(FRAMES):
            mask = true_mask(sequence, index)
            pixels = np.where(mask[..., None], colour_of(sequence), np.uint8(10))
            name = f"{leap * index:05d}"
            Image.fromarray(pixels).save(pictures / f"{name}.jpg", format="PNG")  # JPEG would change the colours
            Image.fromarray(mask).save(masks / f"{name}.png")  # 1 bit, as some have it; the official ones are 0 and 255
