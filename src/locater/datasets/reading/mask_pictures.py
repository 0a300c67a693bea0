"""Masks stored as pictures: one number per object (palette), or one object per file."""

from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from locater.datasets.reading.lazy import MaskFile
from locater.errors import LocaterError
from locater.io.pictures import picture_file
from locater.records import Mask


def palette_mask_file(path: Path, numbers: frozenset[int]) -> MaskFile:
    """The union of these objects in a palette picture."""
    return MaskFile(str(path), partial(_palette_mask, path, numbers))


def binary_mask_file(path: Path) -> MaskFile:
    """Whatever is not black in a picture."""
    return MaskFile(str(path), partial(read_binary, path))


def read_numbers(path: Path) -> npt.NDArray[np.uint8]:
    """The object number of each pixel, (H, W); 0 is background."""
    picture = _opened(path)
    if picture.ndim != 2:
        raise LocaterError(f"{path} has colours where object numbers are expected; save it as a palette PNG.")
    return picture.astype(np.uint8)


def read_binary(path: Path) -> Mask:
    """Where the picture is not black, (H, W)."""
    picture = _opened(path)
    mask: Mask = np.any(picture != 0, axis=2) if picture.ndim == 3 else picture != 0
    return mask


def _palette_mask(path: Path, numbers: frozenset[int]) -> Mask:
    return np.isin(read_numbers(path), list(numbers))


def _opened(path: Path) -> npt.NDArray[np.uint8]:
    with picture_file(path) as image:
        # Transparency is no colour: an opaque black pixel is background.
        plain = image.convert(image.mode.removesuffix("A")) if image.mode in ("RGBA", "LA") else image
        return np.asarray(plain)  # a palette picture's numbers, not its colours
