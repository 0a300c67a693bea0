"""Crops of things from lists of named boxes: COCO's photographs at scale, without a pack."""

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from locater.io.pictures import pixels_of
from locater.io.text_files import as_published
from locater.training.second_look.crops import LEAST_SHARE, Box, NamedCrop, called_among, crop_in_square
from locater.worlds.composed.pack.nouns import ROLES, broader_nouns, plain
from locater.worlds.composed.pack.roles import role_of

SIDE = 256  # pixels of a picture, in which boxes are told
MOST, MOST_PEOPLE = 420, 2400  # crops of a noun
_FILLED = 0.6  # of a box, by the thing in it


@dataclass(frozen=True)
class _Boxed:
    """A thing in a picture, and the nouns of all that is there."""

    picture: str
    aspect: float
    noun: str
    box: Box  # in fractions of the picture's sides
    around: frozenset[str]


def crops_of_boxes(files: Sequence[Path], pictures: Path, seed: int = 0) -> Iterator[NamedCrop]:
    """Things of files as `tools.coco_pack` reads them, at most so many of a noun, chosen at random.

    People beside what tells it are called by what they do.
    """
    rng = Random(seed)
    found = [each for file in files for each in _things(file)]
    rng.shuffle(found)
    taken: Counter[str] = Counter()
    chosen: dict[str, list[_Boxed]] = defaultdict(list)
    for each in found:
        if taken[each.noun] < (MOST_PEOPLE if each.noun == "person" else MOST):
            taken[each.noun] += 1
            chosen[each.picture].append(each)
    for picture, things in sorted(chosen.items()):
        pixels = pixels_of(pictures / f"{picture}.jpg")
        for each in things:
            broader = ("person",) if each.noun in ROLES else broader_nouns(each.noun)
            yield crop_in_square(pixels, each.box, each.aspect, called_among(each.noun, broader, each.around), rng)


def _things(path: Path) -> Iterator[_Boxed]:
    """The things of a file that are large enough, each with a mask that was found in its box."""
    with as_published(path), lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            named = [(plain(each[0]), _fractions(each[1:5])) for each in (*row["objects"], *row["small"])]
            around = frozenset(noun for noun, _ in named)
            for (noun, box), each in zip(named, row["objects"], strict=False):
                has_mask = bool(each[7])
                if has_mask and _FILLED * (box[2] - box[0]) * (box[3] - box[1]) >= LEAST_SHARE:
                    role = role_of(box, named) if noun == "person" else ""
                    yield _Boxed(row["id"], row["width"] / row["height"], role or noun, box, around)


def _fractions(box: Sequence[float]) -> Box:
    left, top, right, bottom = (edge / SIDE for edge in box)
    return left, top, right, bottom
