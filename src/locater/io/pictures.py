"""Reading what people have: folders of pictures, picture files, JSON; what cannot be read is said in one sentence."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from locater.errors import LocaterError

_SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".webp", ".bmp"))


def pictures_in(folder: Path, deep: bool = False) -> list[Path]:
    """A folder's picture files in order; `deep`: its sub-folders' as well."""
    if not folder.is_dir():
        raise LocaterError(f"There is no folder {folder}; name the one with the pictures.")
    entries = folder.rglob("*") if deep else folder.iterdir()
    found = sorted(path for path in entries if path.suffix.lower() in _SUFFIXES)
    if not found:
        raise LocaterError(f"{folder} holds no pictures; name a folder with jpg, png or webp files.")
    return found


def opened(path: Path) -> Image.Image:
    """The picture, read whole."""
    try:
        with Image.open(path) as image:
            image.load()
            return image
    except FileNotFoundError:
        raise LocaterError(f"The picture {path} is missing; check the folder.") from None
    except (OSError, UnidentifiedImageError, SyntaxError):
        raise LocaterError(f"The picture {path} cannot be read; replace or remove it.") from None


def pixels_of(path: Path) -> npt.NDArray[np.uint8]:
    """The picture's (H, W, 3) pixels."""
    return np.asarray(opened(path).convert("RGB"), dtype=np.uint8)


def read_json(path: Path) -> Any:
    """What a JSON file holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LocaterError(f"There is no file {path}; name the instance file.") from None
    except (OSError, ValueError):
        raise LocaterError(f"{path} is no JSON; download it again.") from None
