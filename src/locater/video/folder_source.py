"""Frames from a folder of pictures, in the order a person would number them."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from locater.errors import LocaterError
from locater.records import Frame, Pixels, VideoInfo
from locater.video.array_source import check_stride

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".bmp"})
_EXIF_ORIENTATION = 0x0112
_SIDEWAYS = frozenset({5, 6, 7, 8})  # EXIF orientations that exchange width and height


class PictureFolder:
    """A folder's pictures as a video; every header is read at once, so that an odd one fails before the work starts."""

    is_repeatable = True

    def __init__(self, folder: Path, frames_per_second: float) -> None:
        # Hidden files are left out: macOS writes a ._name.png, which is no picture, beside each name.png.
        entries = [path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES and path.name[0] != "."]
        self._paths = sorted(entries, key=natural_order)
        if not self._paths:
            kinds = ", ".join(sorted(suffix[1:] for suffix in SUFFIXES))
            raise LocaterError(f"The folder {folder} holds no pictures; put the frames there as {kinds} files.")
        self._frames_per_second = frames_per_second
        width, height = _upright_size(self._paths[0])
        for path in self._paths:
            if (size := _upright_size(path)) != (width, height):
                raise LocaterError(
                    f"{path.name} is {size[0]} x {size[1]}, but {self._paths[0].name} is {width} x {height}; "
                    "all pictures of a video must have the same size."
                )
        self.info = VideoInfo(
            name=folder.resolve().name,
            width=width,
            height=height,
            frame_count=len(self._paths),
            frames_per_second=frames_per_second,
            duration=len(self._paths) / frames_per_second,
        )

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; the pictures between are not read."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        for index in range(start, len(self._paths), every):
            yield Frame(index, index / self._frames_per_second, read_picture(self._paths[index]))


def read_picture(path: Path) -> Pixels:
    """One picture, upright, as (H, W, 3) RGB; grey, palette, transparent and 16 bit ones too."""
    try:
        with Image.open(path) as image:
            upright = ImageOps.exif_transpose(image)
            if upright.mode.startswith("I"):  # 16 bit grey: Pillow would clip it, not scale it
                grey = (np.asarray(upright).astype(np.uint32) >> 8).astype(np.uint8)
                return np.repeat(grey[:, :, None], 3, axis=2)
            return np.array(upright.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise _unreadable(path) from None


def _upright_size(path: Path) -> tuple[int, int]:
    try:
        with Image.open(path) as image:
            width, height = image.size
            is_sideways = image.getexif().get(_EXIF_ORIENTATION) in _SIDEWAYS
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise _unreadable(path) from None
    return (height, width) if is_sideways else (width, height)


def _unreadable(path: Path) -> LocaterError:
    return LocaterError(f"{path} is not a picture that can be read; replace it or take it out of the folder.")


def natural_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Keys that put frame2 before frame10."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts], path.name
