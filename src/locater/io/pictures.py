"""Reading pictures that people have; what cannot be read is said in one sentence."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from locater.errors import LocaterError
from locater.io.plain_files import plain_file

SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".bmp"))


def pictures_in(folder: Path, deep: bool = False) -> list[Path]:
    """A folder's picture files in the order of their paths; `deep`: its sub-folders' as well."""
    if not folder.is_dir():
        raise LocaterError(f"There is no folder {folder}; name the one with the pictures.")
    found = sorted(path for path in (folder.rglob("*") if deep else folder.iterdir()) if _is_picture(path))
    if not found:
        kinds = ", ".join(sorted(suffix[1:] for suffix in SUFFIXES))
        raise LocaterError(f"The folder {folder} holds no pictures; put them there as {kinds} files.")
    return found


def numbered_pictures(folder: Path) -> list[Path]:
    """A folder's picture files, frame2 before frame10; none where there are none."""
    return sorted((path for path in folder.iterdir() if _is_picture(path)), key=natural_order)


def natural_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Keys that put frame2 before frame10."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts], path.name


@contextmanager
def picture_file(path: Path | str, content: bytes | None = None) -> Iterator[Image.Image]:
    """The picture at `path`, or of the `content` that stands for it, open while the block lasts.

    Pillow reads pixels late, so whatever it raises inside the block is said in one sentence too.
    """
    try:
        with plain_file(path) if content is None else io.BytesIO(content) as file, Image.open(file) as image:
            yield image
    except FileNotFoundError:
        raise LocaterError(f"{path} is missing; check the folder, or download it again.") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise LocaterError(f"{path} is not a picture that can be read; replace it, or download it again.") from None


def opened(path: Path) -> Image.Image:
    """The picture as it is stored, read whole."""
    with picture_file(path) as image:
        image.load()
    return image


def stored_size(path: Path) -> tuple[int, int]:
    """Width and height as stored, from the header alone."""
    with picture_file(path) as image:
        return image.size


def pixels_of(path: Path) -> npt.NDArray[np.uint8]:
    """The picture's (H, W, 3) pixels as they are stored: masks made for them lie likewise."""
    return np.asarray(opened(path).convert("RGB"), dtype=np.uint8)


def upright_pixels(path: Path) -> npt.NDArray[np.uint8]:
    """One picture, turned as its EXIF says, as (H, W, 3) RGB; grey, palette, transparent and 16 bit ones too."""
    with picture_file(path) as image:
        return upright(image)


def upright(image: Image.Image) -> npt.NDArray[np.uint8]:
    """The same of an image that is open."""
    turned = ImageOps.exif_transpose(image)
    if turned.mode.startswith("I"):  # 16 bit grey: Pillow would clip it, not scale it
        grey = (np.asarray(turned).astype(np.uint32) >> 8).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    return np.array(turned.convert("RGB"))


def _is_picture(path: Path) -> bool:
    # A leading dot: macOS writes a ._name.png, which is no picture, beside each name.png.
    return path.suffix.lower() in SUFFIXES and path.name[0] != "."
