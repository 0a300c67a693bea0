"""COCO's photographs as a benchmark of single pictures: which words a network follows, kind of question by kind.

A folder holds `instances.json` beside `images/`, and `captions.json` (lists of sentences by image id) for `phrase`.
The questions are drawn by a hash of their names, so that everybody is asked the same, whatever else is in the folder.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from locater.datasets.annotated import Figures
from locater.datasets.coco import CocoIndex, read_coco, union
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder
from locater.io.text_files import as_published, need, read_json
from locater.records import FrameSource, Mask, SampleInfo
from locater.text.colour_names import COLOUR_WORDS

PUBLISHED: Mapping[str, Figures] = {"val": {}}

KINDS = ("noun", "phrase", "place", "crowd", "absent_kin", "absent_far")
ABSENT_KINDS = ("absent_kin", "absent_far")
CHOICE_KINDS = ("place", "crowd")  # one of several of its class is meant
MOST = 200  # questions of a kind

# Classes of one line are near kin: what is taken for the other by somebody who looks at the shape alone.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "people": ("person",),
    "animals": ("bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"),
    "vehicles": ("bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"),
    "street": ("traffic light", "fire hydrant", "stop sign", "parking meter"),
    "furniture": ("bench", "chair", "couch", "bed", "dining table", "toilet"),
    "kitchen": ("bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl"),
    "appliances": ("microwave", "oven", "toaster", "sink", "refrigerator", "hair drier", "toothbrush"),
    "food": ("banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake"),
    "sports": (
        *("frisbee", "skis", "snowboard", "sports ball", "kite"),
        *("baseball bat", "baseball glove", "skateboard", "surfboard", "tennis racket"),
    ),
    "electronics": ("tv", "laptop", "mouse", "remote", "keyboard", "cell phone"),
    "accessories": ("backpack", "umbrella", "handbag", "tie", "suitcase"),
    "household": ("book", "clock", "vase", "scissors", "teddy bear", "potted plant"),
}
_FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}
# One is often a part of the other, or called by its name: neither is asked for as absent where the other is seen.
ALIKE = (
    *(("laptop", "keyboard"), ("laptop", "tv"), ("cup", "wine glass"), ("cup", "bowl"), ("bottle", "vase")),
    *(("chair", "couch"), ("chair", "bench"), ("couch", "bed"), ("car", "truck"), ("bus", "truck")),
    *(("handbag", "backpack"), ("handbag", "suitcase"), ("backpack", "suitcase"), ("sandwich", "hot dog")),
    *(("cake", "donut"), ("oven", "microwave"), ("oven", "toaster"), ("vase", "potted plant"), ("vase", "cup")),
    *(("teddy bear", "bear"), ("cell phone", "remote"), ("motorcycle", "bicycle"), ("sports ball", "frisbee")),
)
_ALIKE_OF: Mapping[str, frozenset[str]] = {
    name: frozenset(other for pair in ALIKE if name in pair for other in pair if other != name) for name in _FAMILY_OF
}
_NEVER_ABSENT = ("person", "dining table", "book")  # too often in a picture without being marked

_LEAST_SHARE = 0.01  # of the picture: smaller things are a matter of sight, not of words
_BETWEEN = 0.15  # of the picture's width: the least between the middles of two that are left and right of each other
_SHARED = 0.25  # of the narrower box's width: the most that the two may share
_ADJECTIVES = "|".join((*COLOUR_WORDS, "grey", "tan", "small", "large", "big", "little", "old", "young", "wooden"))
_AFTER = "in|on|at|with|and|is|are|by|near|next|under|behind|that|which|[a-z]+ing"  # not `a white bear statue`

Annotation = Mapping[str, Any]


@dataclass(frozen=True)
class _Picture:
    """A photograph and what is marked in it."""

    image: Mapping[str, Any]
    things: dict[str, list[Annotation]]  # by class, each with a mask of its own
    blurred: set[str]  # classes with a crowd, or with a thing that has no mask

    @property
    def seen(self) -> set[str]:
        """Every class that is in it."""
        return self.blurred | self.things.keys()

    def clear(self, name: str, count: int) -> list[Annotation]:
        """All things of a class from left to right, if there are `count` or more and nothing else of it is seen."""
        things = self.things.get(name, [])
        if name in self.blurred or len(things) < count:
            return []
        return sorted(things, key=_middle)

    def is_large(self, thing: Annotation) -> bool:
        """Whether it can be told what the thing is."""
        return bool(thing["area"] >= _LEAST_SHARE * self.image["height"] * self.image["width"])


@dataclass(frozen=True)
class _Question:
    """One question that could be asked."""

    info: SampleInfo
    lot: str  # questions of one kind are taken in the order of its hash; two sides of a pair share one


class CocoVal(ListedDataset):
    """One question per sentence, key `<kind>/<image id>/<class>`, a side after it; one-frame videos.

    The kinds are taken in turn, so that the first questions hold as many of each.
    """

    label = "coco-val"

    def __init__(self, root: Path, split: str, most: int = MOST) -> None:
        super().__init__(root, split)
        self._path = need(root, ("instances.json",))
        self._captions = root / "captions.json"
        self._images = root / "images"
        self._most = most

    def others(self, info: SampleInfo) -> list[Mask]:
        """The masks of all others of the class in the photograph: what could have been chosen instead."""
        meant = self._index.annotations[int(str(info.object_id))]
        picture = self._pictures[meant["image_id"]]
        others = [each for each in picture.things[self._class_of(meant)] if each["id"] != meant["id"]]
        return [union([each], picture.image, f"{self._path} ({info.key})") for each in others]

    def _listed(self) -> tuple[SampleInfo, ...]:
        captions = read_json(self._captions) if self._captions.exists() else {}
        possible: dict[str, list[_Question]] = {kind: [] for kind in KINDS}
        with as_published(self._path):
            for picture in self._pictures.values():
                sentences = captions.get(f"{picture.image['id']:012d}") or captions.get(str(picture.image["id"]), [])
                for question in _questions(picture, sentences):
                    possible[question.info.kind].append(question)
        drawn = [sorted(some, key=_order)[: self._most] for some in possible.values()]
        return tuple(each.info for each in chain.from_iterable(zip_longest(*drawn)) if each is not None)

    @cached_property
    def _index(self) -> CocoIndex:
        return read_coco(self._path)

    @cached_property
    def _pictures(self) -> dict[int, "_Picture"]:
        """The photographs whose every object is of a class that is known here."""
        pictures = {number: _Picture(image, {}, set()) for number, image in self._index.images.items()}
        for annotation in self._index.annotations.values():
            picture, name = pictures[annotation["image_id"]], self._class_of(annotation)
            if not annotation.get("iscrowd"):
                picture.things.setdefault(name, []).append(annotation)
            else:
                picture.blurred.add(name)
        return {number: each for number, each in pictures.items() if each.seen <= _FAMILY_OF.keys()}

    def _class_of(self, annotation: Annotation) -> str:
        return str(self._index.categories[annotation["category_id"]]["name"])

    def _frames(self, video: str) -> FrameSource:
        return PictureSequence(video, [need_folder(self._images) / video], 1.0)

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        name = f"{self._path} ({info.key})"
        image = self._index.images[int(info.key.split("/")[1])]
        if info.object_id is None:
            return {0: MaskFile(name, lambda: np.zeros((int(image["height"]), int(image["width"])), np.bool_))}
        meant = self._index.annotations[int(info.object_id)]
        return {0: MaskFile(name, lambda: union([meant], image, name))}


def _questions(picture: _Picture, captions: Sequence[str]) -> Iterator[_Question]:
    """All that could be asked about a photograph."""
    for name in sorted(picture.seen):
        alone = picture.clear(name, 1)
        if len(alone) == 1 and picture.is_large(alone[0]):
            yield _asked(picture, "noun", name, f"the {name}", alone[0])
            yield from _absent(picture, name)
            phrase = next(_phrases(name, captions), None)
            if phrase is not None:
                yield _asked(picture, "phrase", name, phrase, alone[0])
        if len(alone) == 2:
            yield from _sides(picture, "place", name, alone, "on the")
        elif len(alone) > 2 and name == "person":
            yield from _sides(picture, "crowd", name, alone, "on the far")


def _asked(
    picture: _Picture, kind: str, name: str, sentence: str, meant: Annotation | None, side: str = ""
) -> _Question:
    image = picture.image
    lot = f"{kind}/{image['id']}/{name}"
    info = SampleInfo(
        key=f"{lot}/{side}" if side else lot,
        video=str(image["file_name"]),
        expression=sentence,
        kind=kind,
        object_count=sum(len(things) for things in picture.things.values()),
        object_id=None if meant is None else str(meant["id"]),
    )
    return _Question(info, lot)


def _absent(picture: _Picture, name: str) -> Iterator[_Question]:
    """A near-kin class that is not in the photograph, and one of another kind; by lot."""
    alike = {other for each in picture.seen for other in _ALIKE_OF[each]}
    absent = sorted(_FAMILY_OF.keys() - picture.seen - alike - set(_NEVER_ABSENT))
    seen_families = {_FAMILY_OF[each] for each in picture.seen}
    choices = {
        "absent_kin": [each for each in absent if _FAMILY_OF[each] == _FAMILY_OF[name]],
        "absent_far": [each for each in absent if _FAMILY_OF[each] not in seen_families],
    }
    for kind, names in choices.items():
        if names:
            drawn = min(names, key=lambda each: _hash(f"{picture.image['id']}/{name}/{each}"))
            yield _asked(picture, kind, name, f"the {drawn}", None)


def _sides(picture: _Picture, kind: str, name: str, things: Sequence[Annotation], where: str) -> Iterator[_Question]:
    """The thing that is clearly left of all others, and the one that is clearly right of them."""
    width = float(picture.image["width"])
    left, right = things[0], things[-1]
    is_clear = {
        "left": all(_is_left(left, each, width) for each in things[1:]),
        "right": all(_is_left(each, right, width) for each in things[:-1]),
    }
    for (side, clear), meant in zip(is_clear.items(), (left, right), strict=True):
        if clear and picture.is_large(meant):
            yield _asked(picture, kind, name, f"the {name} {where} {side}", meant, side)


def _phrases(name: str, captions: Iterable[str]) -> Iterator[str]:
    """What captions call the only one of a class, where they say more than its noun: `a brown dog`."""
    pattern = re.compile(rf"\b(?:an?|the) (?:(?:{_ADJECTIVES}) )+{re.escape(name)}(?=\s*(?:[.,]|$)| (?:{_AFTER})\b)")
    return (found[0] for caption in captions for found in pattern.finditer(caption.lower()))


def _is_left(one: Annotation, other: Annotation, width: float) -> bool:
    """Whether one box is clearly left of another, so that nobody would say otherwise."""
    narrower = min(one["bbox"][2], other["bbox"][2])
    shared = one["bbox"][0] + one["bbox"][2] - other["bbox"][0]
    return bool(_middle(other) - _middle(one) >= _BETWEEN * width and shared <= _SHARED * narrower)


def _middle(thing: Annotation) -> float:
    return float(thing["bbox"][0] + thing["bbox"][2] / 2)


def _order(question: _Question) -> tuple[str, str]:
    return _hash(question.lot), question.info.key


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
