"""COCO's photographs as one-frame videos, a class name as the sentence: `the dog`. For pretraining."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder
from locater.io.coco_masks import decode_segmentation
from locater.io.text_files import as_published, need, read_json
from locater.records import FrameSource, Mask, SampleInfo

PUBLISHED: Mapping[str, Figures] = {  # photographs with at least one object
    "train2017": {"videos": 117266},
    "val2017": {"videos": 4952},
    "train2014": {"videos": 82081},
    "val2014": {"videos": 40137},
    "all": {},  # one instances.json beside a folder of images
}


class CocoInstances(ListedDataset):
    """One question per photograph and class, key `<image id>/<class>`; the mask is the union of the class's objects."""

    label = "coco"

    def __init__(self, root: Path, split: str) -> None:
        super().__init__(root, split)
        if split == "all":
            self._path = need(root, ("instances.json",))
            self._images = root / "images"
        else:
            self._path = need(root, (f"annotations/instances_{split}.json",))
            inside = root / "images" / split
            self._images = inside if inside.is_dir() else root / split

    def _listed(self) -> Iterable[SampleInfo]:
        """Every class of every photograph; its kind is single or multi by the number of its objects."""
        with as_published(self._path):
            return tuple(self._info(image_id, category) for image_id, category in self._annotations)

    @cached_property
    def _index(self) -> "CocoIndex":
        return read_coco(self._path)

    @cached_property
    def _annotations(self) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
        """Objects by photograph and class, in the order of the file."""
        groups: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
        for annotation in self._index.annotations.values():
            groups.setdefault((annotation["image_id"], annotation["category_id"]), []).append(annotation)
        return groups

    @cached_property
    def _objects_per_image(self) -> Counter[int]:
        return Counter(annotation["image_id"] for annotation in self._index.annotations.values())

    def _info(self, image_id: int, category: int) -> SampleInfo:
        name = str(self._index.categories[category]["name"])
        is_crowd = any(each.get("iscrowd") for each in self._annotations[image_id, category])
        is_single = len(self._annotations[image_id, category]) == 1 and not is_crowd
        return SampleInfo(
            key=f"{image_id}/{name}",
            video=str(self._index.images[image_id]["file_name"]),
            expression=f"the {name}",
            kind="single" if is_single else "multi",
            object_count=self._objects_per_image[image_id],
            object_id=str(category),
        )

    def _frames(self, video: str) -> FrameSource:
        return PictureSequence(video, [need_folder(self._images) / video], 1.0)

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        image_id = int(info.key.partition("/")[0])
        annotations = self._annotations[image_id, int(str(info.object_id))]
        name = f"{self._path} ({info.key})"
        return {0: MaskFile(name, lambda: union(annotations, self._index.images[image_id], name))}


class CocoIndex:
    """The three tables of an instances file, by their ids."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.images: dict[int, Mapping[str, Any]] = {each["id"]: each for each in content["images"]}
        self.categories: dict[int, Mapping[str, Any]] = {each["id"]: each for each in content["categories"]}
        self.annotations: dict[int, Mapping[str, Any]] = {each["id"]: each for each in content["annotations"]}


def read_coco(path: Path) -> CocoIndex:
    """The tables of an instances file."""
    content = read_json(path)
    with as_published(path):
        return CocoIndex(content)


def union(annotations: Sequence[Mapping[str, Any]], image: Mapping[str, Any], name: str) -> Mask:
    """All these objects' pixels, (H, W)."""
    height, width = int(image["height"]), int(image["width"])
    mask = np.zeros((height, width), dtype=np.bool_)
    for annotation in annotations:
        mask |= decode_segmentation(annotation.get("segmentation"), height, width, name)
    return mask
