"""Which of COCO's pictures go into a pack, and which of the masks that a network found in them are trusted.

A mask that fits its box badly, is much like another one or seems to be a crowd's is not trusted: its thing stays in the
picture as a vague noun. A class is usable in a picture when everything of it there is trusted.
"""

import json
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from locater.errors import LocaterError
from locater.io import rle
from locater.io.text_files import as_published, read_json
from locater.records import Mask
from locater.worlds.composed.pack.holdout import HoldOut
from locater.worlds.composed.pack.nouns import broader_nouns, plain
from locater.worlds.composed.pack.pack import split_of

SIDE = 256
ANIMALS = frozenset(("cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "bird"))
MOVING = ANIMALS | {"animal", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"}
# Classes whose masks are worse than others', by what they are worth.
POOR = {"dining table": 0.4, "chair": 0.6, "bicycle": 0.9, "bench": 0.8}
POOR |= dict.fromkeys(("fork", "knife", "spoon", "couch", "bed", "sink", "oven"), 0.7)
LEAST_FIT = 0.7  # IoU of a mask's own box with the given one
MOST_ALIKE = 0.6  # IoU of two masks: more, and one of them is the other's thing
CROWD = 3  # boxes of the same class inside a box
LEAST_ASKED, MOST_ASKED = 0.0075, 0.55  # of the picture: what can be asked about
MOST_OF_A_CLASS = 5  # in a picture, to ask about one of them
LONE_PEOPLE_KEPT = 0.35  # of the pictures with one person and nothing else to ask about

Box = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Thing:
    """A named box; one without a mask has no counts."""

    name: str
    box: Box
    scores: tuple[float, float] = (0.0, 0.0)  # predicted IoU, stability
    counts: str = ""

    def mask(self) -> Mask:
        """The (256, 256) mask."""
        return rle.decode(self.counts.encode("ascii"), SIDE, SIDE)


@dataclass(frozen=True, slots=True)
class Trust:
    """How good a trusted mask is."""

    fit: float  # IoU of its own box with the given one
    share: float  # of the picture


@dataclass(frozen=True, slots=True)
class Candidate:
    """A picture with something to ask about."""

    source: str
    aspect: float  # width by height
    things: tuple[Thing, ...]
    small: tuple[Thing, ...]
    trusted: Mapping[int, Trust]  # by the thing's place
    usable: Mapping[str, int]  # how many there are of each class that can be asked about
    split: str


def candidates(files: Iterable[Path], left_out: frozenset[str], hold_out: HoldOut) -> list[Candidate]:
    """The pictures of the objects files that have something to ask about, in the files' order, each once."""
    found = {}
    for file in files:
        try:
            with as_published(file), lzma.open(file, "rt", encoding="utf-8") as lines:
                for each in (_candidate(json.loads(line), left_out, hold_out) for line in lines):
                    if each is not None:
                        found[each.source] = each
        except (OSError, EOFError, lzma.LZMAError):
            raise LocaterError(f"{file} cannot be read as lines compressed by xz; name another --objects.") from None
    return list(found.values())


def _candidate(row: Mapping[str, Any], left_out: frozenset[str], hold_out: HoldOut) -> Candidate | None:
    if row["id"] in left_out:
        return None
    if row["size"] != [SIDE, SIDE]:
        raise ValueError(f"the masks of {row['id']} are not {SIDE} x {SIDE}")
    things = tuple(Thing(each[0], tuple(each[1:5]), (each[5], each[6]), each[7]) for each in row["objects"])
    small = tuple(Thing(each[0], tuple(each[1:5])) for each in row["small"])
    trusted = _trusted(things, small)
    usable = _usable(things, small, trusted)
    if not usable:
        return None
    names = {plain(each.name) for each in (*things, *small)}
    is_held = any(hold_out.covering(name, broader_nouns(name)) for name in names)
    split = "heldout" if is_held else split_of(row["id"])
    return Candidate(row["id"], row["width"] / row["height"], things, small, trusted, usable, split)


def _trusted(things: Sequence[Thing], small: Sequence[Thing]) -> dict[int, Trust]:
    """The masks that fit their boxes, are no crowd's and no other thing's, by their places."""
    places = [place for place, thing in enumerate(things) if thing.counts]
    if not places:
        return {}
    masks = np.stack([things[place].mask().ravel() for place in places]).astype(np.float32)
    areas, both = masks.sum(axis=1), masks @ masks.T
    alike = both / np.maximum(areas[:, None] + areas - both, 1)
    fits = [_fit(mask.reshape(SIDE, SIDE) > 0, things[place].box) for mask, place in zip(masks, places, strict=True)]
    found = {}
    for i, place in enumerate(places):
        rivals = [j for j in range(len(places)) if j != i and alike[i, j] > MOST_ALIKE]
        name = things[place].name
        is_doubled = any(things[places[j]].name == name or fits[j] >= fits[i] for j in rivals)
        if fits[i] >= LEAST_FIT and not is_doubled and _inside(things[place], (*things, *small)) - 1 < CROWD:
            found[place] = Trust(fits[i], float(areas[i]) / SIDE**2)
    return found


def _fit(mask: Mask, box: Box) -> float:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if len(rows) == 0:
        return 0.0
    own = (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
    both = _overlap(own, box)
    return both / (_overlap(own, own) + _overlap(box, box) - both)


def _inside(thing: Thing, others: Iterable[Thing]) -> int:
    """How many boxes of its class, its own too, lie in a thing's box for the most part."""
    same = [each.box for each in others if each.name == thing.name]
    return sum(_overlap(thing.box, box) >= 0.8 * _overlap(box, box) for box in same)


def _overlap(one: Box, other: Box) -> int:
    width, height = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def _usable(things: Sequence[Thing], small: Sequence[Thing], trusted: Mapping[int, Trust]) -> dict[str, int]:
    """The classes of which everything in the picture has a trusted mask of a fair size, with their numbers."""
    is_clear = [p in trusted and LEAST_ASKED <= trusted[p].share <= MOST_ASKED for p in range(len(things))]
    clear = Counter(thing.name for thing, is_one in zip(things, is_clear, strict=True) if is_one)
    vague = Counter(thing.name for thing, is_one in zip(things, is_clear, strict=True) if not is_one)
    vague += Counter(thing.name for thing in small)
    names = {name for name, count in clear.items() if not vague[name] and count <= MOST_OF_A_CLASS}
    if clear["animal"] or vague["animal"]:  # of unknown species: any of them
        names -= ANIMALS
    if any(vague[name] for name in ANIMALS):
        names -= {"animal"}
    return {name: count for name, count in clear.items() if name in names}


def select(found: Sequence[Candidate], photographs: int, hold_out: HoldOut) -> list[Candidate]:
    """The best `photographs` of train and some of other splits: rare classes and several of a class are worth most."""
    common = Counter(name for each in found if each.split == "train" for name in each.usable)
    rng = Random(0)
    worth = {each.source: _worth(each, common, rng) for each in found}
    ranked = sorted(found, key=lambda each: -worth[each.source])
    chosen = [each for each in ranked if each.split == "train"][:photographs]
    watched = max(photographs // 40, 1)
    for split in ("validation", "test"):  # at random from the better ones: less one-sided than the best
        offered = [each for each in ranked if each.split == split][: 2 * watched]
        rng.shuffle(offered)
        chosen += offered[:watched]
    by_class: dict[str, list[Candidate]] = defaultdict(list)
    for each in (one for one in ranked if one.split == "heldout"):
        for name in {hold_out.covering(plain(name), broader_nouns(plain(name))) for name in each.usable} - {""}:
            by_class[name].append(each)
    held = {each.source: each for of in by_class.values() for each in of[: max(photographs // 144, 1)]}
    return sorted((*chosen, *held.values()), key=lambda each: each.source)


def _worth(each: Candidate, common: Mapping[str, int], rng: Random) -> float:
    worth = 0.0
    for name, count in each.usable.items():
        rarity = POOR.get(name, 1.0) / np.sqrt(max(common[name], 1) / 300)
        worth += rarity * (1.8 if count > 1 else 1.0) * (1.5 if name in MOVING else 1.0)
        worth += 2.0 if name == "person" and count > 1 else 0.0  # one person of several
    if each.usable == {"person": 1} and rng.random() < LONE_PEOPLE_KEPT:
        worth = 10.0
    return worth * rng.uniform(0.85, 1.15)


def sources_of(instances: Path) -> frozenset[str]:
    """The pictures of a COCO instance file."""
    content = read_json(instances, "name a COCO instance file")
    with as_published(instances):
        return frozenset(Path(each["file_name"]).stem for each in content["images"])
