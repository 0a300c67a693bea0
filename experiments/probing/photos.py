"""Photographs with masks for frozen-feature probes, from a folder laid out as docs/encoders.md says."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import Tensor

from locater.io.pictures import opened
from locater.io.text_files import read_json

MASK_SIDE = 320

_ItemT = TypeVar("_ItemT")


class Photo(NamedTuple):
    """A photograph and the things on it."""

    path: Path
    labels: tuple[int, ...]
    masks: Tensor  # (things, 320, 320), bool, the photograph squashed to a square

    def pixels(self, size: int) -> Tensor:
        """(1, 1, 3, S, S) in [0, 1], squashed as the product does."""
        image = opened(self.path).convert("RGB").resize((size, size), Image.Resampling.BILINEAR)
        return torch.from_numpy(np.array(image)).permute(2, 0, 1)[None, None] / 255


def coco(folder: Path, count: int) -> list[Photo]:
    """`count` photographs of the COCO subset, evenly taken; labels are category ids."""
    index = read_json(folder / "instances.json")
    things: dict[int, list[dict[str, object]]] = {}
    for annotation in index["annotations"]:
        if not annotation["iscrowd"]:
            things.setdefault(annotation["image_id"], []).append(annotation)
    images = [image for image in index["images"] if image["id"] in things]
    photos = []
    for image in _evenly(images, count):
        scale = (MASK_SIDE / image["width"], MASK_SIDE / image["height"])
        masks = [_drawn(thing["segmentation"], scale) for thing in things[image["id"]]]
        labels = tuple(int(str(thing["category_id"])) for thing in things[image["id"]])
        photos.append(Photo(folder / "images" / image["file_name"], labels, torch.stack(masks)))
    return photos


def pets(folder: Path, per_breed: int) -> list[Photo]:
    """The first photographs of each breed; the label is the breed's number."""
    breeds: dict[str, list[Path]] = {}
    for path in sorted((folder / "images").iterdir()):
        breeds.setdefault(path.stem.rpartition("_")[0], []).append(path)
    return [
        Photo(path, (number,), _mask(folder / "trimaps" / f"{path.stem}.png", only=1)[None])
        for number, paths in enumerate(breeds.values())
        for path in paths[:per_breed]
    ]


def horses(folder: Path, count: int) -> list[Photo]:
    """`count` photographs of one horse each, its outline exact."""
    masks = {path.stem: path for path in (folder / "masks").iterdir()}
    paths = [path for path in sorted((folder / "images").iterdir()) if path.stem in masks]
    return [Photo(path, (0,), _mask(masks[path.stem])[None]) for path in _evenly(paths, count)]


def _mask(path: Path, only: int | None = None) -> Tensor:
    # Not converted: a palette image's values are its indices.
    values = np.array(opened(path).resize((MASK_SIDE, MASK_SIDE), Image.Resampling.NEAREST))
    return torch.from_numpy(values > 127 if only is None else values == only)


def _drawn(polygons: object, scale: tuple[float, float]) -> Tensor:
    canvas = Image.new("1", (MASK_SIDE, MASK_SIDE))
    for polygon in polygons if isinstance(polygons, list) else []:
        points = np.array(polygon, dtype=float).reshape(-1, 2) * scale
        ImageDraw.Draw(canvas).polygon([(x, y) for x, y in points], fill=1)
    return torch.from_numpy(np.array(canvas))


def _evenly(items: list[_ItemT], count: int) -> Iterator[_ItemT]:
    return (items[round(i)] for i in np.linspace(0, len(items) - 1, min(count, len(items))))
