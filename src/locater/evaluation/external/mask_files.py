"""Masks that any system wrote: PNGs in a folder or a zip, or COCO run lengths in a JSON, looked up by name.

A name is the PNG's path without its suffix: `<video>/<expression>/<frame>`; in a JSON it is the `image_id`.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from locater.errors import LocaterError
from locater.io.coco_masks import decode_segmentation
from locater.io.pictures import picture_file
from locater.io.text_files import read_bytes, read_json
from locater.records import Mask

Numbers = npt.NDArray[np.uint8]  # (H, W): an object's number, 0 for background


class MaskFiles(Protocol):
    """Masks by name."""

    def names(self) -> Sequence[str]:
        """Every name, sorted."""
        ...

    def read(self, name: str) -> Numbers:
        """One picture's numbers, (H, W); a binary picture's are 0 and 1."""
        ...


def open_mask_files(path: Path) -> MaskFiles:
    """The masks of a folder, a zip or a JSON; a folder or zip that holds only `Annotations` is looked into."""
    if path.is_dir():
        inner = path / "Annotations"
        return _Folder(inner if inner.is_dir() else path)
    if path.suffix == ".json" and path.is_file():
        return _RunLengths(path)
    if path.is_file() and zipfile.is_zipfile(path):
        return _Zip(path)
    if not path.exists():
        raise LocaterError(f"There is no {path}; give a folder or a zip of PNGs, or a JSON of COCO run lengths.")
    raise LocaterError(f"{path} is no folder, no zip and no .json; give masks in one of these.")


def read_mask(files: MaskFiles, name: str) -> Mask:
    """Whatever is not background."""
    mask: Mask = files.read(name) != 0
    return mask


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> Sequence[str]:
        found = (path.relative_to(self._folder).with_suffix("").as_posix() for path in self._folder.rglob("*.png"))
        return sorted(name for name in found if not name.rpartition("/")[2].startswith("._"))

    def read(self, name: str) -> Numbers:
        path = self._folder / f"{name}.png"
        return _numbers(read_bytes(path, "every annotated frame needs its mask"), str(path))


class _Zip:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._archive = zipfile.ZipFile(path)
        entries = [entry.filename for entry in self._archive.infolist() if entry.filename.endswith(".png")]
        entries = [name for name in entries if not name.startswith("__MACOSX/")]
        is_rooted = bool(entries) and all(name.startswith("Annotations/") for name in entries)
        self._entries = {
            (name.removeprefix("Annotations/") if is_rooted else name).removesuffix(".png"): name for name in entries
        }

    def names(self) -> Sequence[str]:
        return sorted(self._entries)

    def read(self, name: str) -> Numbers:
        if name not in self._entries:
            raise LocaterError(f"{self._path} lacks {name}.png; every annotated frame needs its mask.")
        try:
            content = self._archive.read(self._entries[name])
        except Exception as error:  # zlib.error, BadZipFile, ...: each compression has its own
            raise LocaterError(f"{self._path}: {self._entries[name]} cannot be unpacked ({error}).") from None
        return _numbers(content, f"{self._path}: {self._entries[name]}")


class _RunLengths:
    def __init__(self, path: Path) -> None:
        self._path = path
        entries = read_json(path)
        if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
            raise LocaterError(f"{path} is no list of masks; expected is COCO's result format.")
        self._entries: dict[str, Any] = {}
        for each in entries:
            if "image_id" not in each or "segmentation" not in each:
                raise LocaterError(f"{path} holds a mask without image_id or segmentation; both are needed.")
            if str(each["image_id"]) in self._entries:
                raise LocaterError(f"{path} holds two masks of {each['image_id']}; one was expected.")
            self._entries[str(each["image_id"])] = each["segmentation"]

    def names(self) -> Sequence[str]:
        return sorted(self._entries)

    def read(self, name: str) -> Numbers:
        if name not in self._entries:
            raise LocaterError(f"{self._path} has no mask with the image_id {name}; every annotated frame needs one.")
        if not isinstance(self._entries[name], dict):
            raise LocaterError(f"{self._path}: the mask of {name} is no run lengths.")
        return decode_segmentation(self._entries[name], 0, 0, f"{self._path} ({name})").astype(np.uint8)


def _numbers(content: bytes, name: str) -> Numbers:
    with picture_file(name, content) as image:
        if image.mode not in ("1", "L", "P"):
            raise LocaterError(f"{name} has mode {image.mode}; masks are grey or palette PNGs.")
        return np.asarray(image).astype(np.uint8)  # a palette picture's numbers, not its colours
