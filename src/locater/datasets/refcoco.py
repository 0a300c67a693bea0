"""RefCOCO, RefCOCO+ and RefCOCOg: sentences that mean one object of a COCO photograph, as one-frame videos."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from locater.datasets.annotated import Figures
from locater.datasets.coco import CocoIndex, read_coco, union
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder
from locater.errors import LocaterError
from locater.io.text_files import as_published, find, need, one_line, read_json
from locater.records import FrameSource, SampleInfo

PUBLISHED_REFCOCO: Mapping[str, Figures] = {
    "train": {"videos": 16994, "sentences": 120624},
    "val": {"videos": 1500, "sentences": 10834},
    "testA": {"videos": 750, "sentences": 5657},
    "testB": {"videos": 750, "sentences": 5095},
}
PUBLISHED_REFCOCO_PLUS: Mapping[str, Figures] = {
    "train": {"videos": 16992, "sentences": 120191},
    "val": {"videos": 1500, "sentences": 10758},
    "testA": {"videos": 750, "sentences": 5726},
    "testB": {"videos": 750, "sentences": 4889},
}
PUBLISHED_REFCOCOG: Mapping[str, Figures] = {  # the UMD split, whose photographs do not overlap
    "train": {"videos": 21899, "sentences": 80512},
    "val": {"videos": 1300, "sentences": 4896},
    "test": {"videos": 2600, "sentences": 9602},
}

_IMAGES = ("images/mscoco/images/train2014", "images/mscoco/train2014", "images/train2014", "train2014")


def open_refcoco(root: Path, split: str) -> "RefCoco":
    """RefCOCO, split by UNC."""
    return RefCoco("refcoco", root, split, ("unc",))


def open_refcoco_plus(root: Path, split: str) -> "RefCoco":
    """RefCOCO+, split by UNC."""
    return RefCoco("refcoco+", root, split, ("unc",))


def open_refcocog(root: Path, split: str) -> "RefCoco":
    """RefCOCOg, split by UMD."""
    return RefCoco("refcocog", root, split, ("umd", "google"))


class RefCoco(ListedDataset):
    """One question per sentence, key `<ref id>/<sentence id>`."""

    def __init__(self, variant: str, root: Path, split: str, split_by: Sequence[str]) -> None:
        super().__init__(root, split)
        self.label = variant
        # The folder of all variants, or one variant's own.
        folder = root / variant if (root / variant).is_dir() else root
        self._instances = need(folder, ("instances.json",))
        self._refs = _find_refs(folder, split_by)
        self._images = find(root, _IMAGES) or find(root.parent, _IMAGES) or root / _IMAGES[0]

    def _listed(self) -> Iterable[SampleInfo]:
        """Every sentence of the split, in the order of the file."""
        refs = read_json(self._refs)
        with as_published(self._refs):
            chosen = [ref for ref in refs if ref["split"] == self.split]
            return tuple(self._info(ref, sentence) for ref in chosen for sentence in ref["sentences"])

    @cached_property
    def _index(self) -> CocoIndex:
        return read_coco(self._instances)

    @cached_property
    def _objects_per_image(self) -> Counter[int]:
        return Counter(annotation["image_id"] for annotation in self._index.annotations.values())

    def _info(self, ref: Mapping[str, Any], sentence: Mapping[str, Any]) -> SampleInfo:
        return SampleInfo(
            key=f"{ref['ref_id']}/{sentence['sent_id']}",
            video=str(self._index.images[ref["image_id"]]["file_name"]),
            expression=one_line(sentence["sent"]),
            object_count=self._objects_per_image[ref["image_id"]],
            object_id=str(ref["ann_id"]),
        )

    def _frames(self, video: str) -> FrameSource:
        return PictureSequence(video, [need_folder(self._images) / video], 1.0)

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        name = f"{self._instances} (annotation {info.object_id})"
        annotation = self._index.annotations.get(int(str(info.object_id)))
        if annotation is None:
            raise LocaterError(f"{name} is missing; download the file again.")
        return {0: MaskFile(name, lambda: union([annotation], self._index.images[annotation["image_id"]], name))}


def _find_refs(folder: Path, split_by: Sequence[str]) -> Path:
    """The refs as JSON. They are published as a pickle, which could run code, so it is refused."""
    for each in split_by:
        if (path := folder / f"refs({each}).json").exists():
            return path
    pickled = find(folder, [f"refs({each}).p" for each in split_by])
    if pickled is not None:
        raise LocaterError(
            f"{pickled} is a pickle, which could run code; turn it into JSON once, safely, with: "
            f"python -m tools.plain_pickle '{pickled}'"
        )
    raise LocaterError(f"{folder / f'refs({split_by[0]}).json'} is missing; docs/datasets.md says how to make it.")
