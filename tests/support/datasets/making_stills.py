"""Photographs of boxes, laid out as `locater.datasets.coco_val` reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from locater.records import Mask
from tests.support.datasets.making_datasets import HEIGHT, WIDTH, empty, runs_of, write_json, write_pictures

Box = tuple[int, int, int, int]  # x, y, width, height


@dataclass(frozen=True)
class Thing:
    """A box of some class."""

    name: str
    box: Box
    is_crowd: bool = False


def box_mask(box: Box) -> Mask:
    """Where the box is."""
    x, y, width, height = box
    mask = empty()
    mask[y : y + height, x : x + width] = True
    return mask


def make_stills(root: Path, pictures: Sequence[list[Thing]], captions: dict[str, list[str]] | None = None) -> None:
    """One photograph for each list of things, numbered from 1."""
    names = sorted({thing.name for things in pictures for thing in things})
    annotations = [
        {
            "image_id": number,
            "category_id": names.index(thing.name) + 1,
            "bbox": list(thing.box),
            "area": int(np.count_nonzero(box_mask(thing.box))),
            "iscrowd": int(thing.is_crowd),
            "segmentation": runs_of(box_mask(thing.box)),
        }
        for number, things in enumerate(pictures, 1)
        for thing in things
    ]
    content = {
        "images": [
            {"id": number, "file_name": f"{number}.png", "height": HEIGHT, "width": WIDTH}
            for number in range(1, len(pictures) + 1)
        ],
        "categories": [{"id": number, "name": name} for number, name in enumerate(names, 1)],
        "annotations": [{"id": number, **each} for number, each in enumerate(annotations, 1)],
    }
    write_json(root / "instances.json", content)
    write_pictures(root / "images", [f"{number}.png" for number in range(1, len(pictures) + 1)])
    if captions is not None:
        write_json(root / "captions.json", captions)
