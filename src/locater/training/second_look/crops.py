"""Crops of things with what they are called: from packs, named photographs, and pictures of people with captions."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from locater.datasets.coco import read_coco
from locater.inference.judging import SIDE
from locater.io.pictures import pixels_of
from locater.io.text_files import as_published, need, read_json
from locater.records import Pixels
from locater.training.second_look.labels import Called
from locater.training.second_look.people import denied_roles, told_by
from locater.video.square_crop import square_crop
from locater.worlds.composed.pack.nouns import noun_of_photograph
from locater.worlds.composed.pack.pack import Pack

LEAST_SHARE = 0.02  # of a photograph's area: smaller things tell little in a pack's pictures
MOST, MOST_PEOPLE = 420, 1700  # crops of a noun
_GROWN = (1.0, 1.35)  # boxes around masks are not those that people draw
_SHIFTED = 0.06  # of the box's side
TIMES = 3  # crops of a person whom captions tell of: they are few
_ALONE = 3.0  # times the area of the next person's box: whom captions tell of

Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class NamedCrop:
    """A crop, and what it is called."""

    pixels: Pixels
    called: Called


def crops_of_pack(pack: Pack, seed: int = 0) -> Iterator[NamedCrop]:
    """Things of a pack's training photographs, at most so many of a noun, in random order."""
    rng = Random(seed)
    found = [
        (number, thing)
        for number, photograph in enumerate(pack.photographs)
        for thing in photograph.things
        if photograph.split == "train" and thing.share >= LEAST_SHARE
    ]
    rng.shuffle(found)
    taken: Counter[str] = Counter()
    for number, thing in found:
        if taken[thing.noun] < (MOST_PEOPLE if thing.noun == "person" else MOST):
            taken[thing.noun] += 1
            photograph = pack.photographs[number]
            around = {*photograph.vague, *(each.noun for each in photograph.things)}
            called = called_among(thing.noun, thing.broader, around)
            yield crop_in_square(pack.photograph_pixels(number), thing.box, photograph.aspect, called, rng)


def crops_of_photographs(folder: Path, seed: int = 0) -> Iterator[NamedCrop]:
    """Whole photographs of single things that their files' names tell (`n02084071_dog.jpg`)."""
    rng = Random(seed)
    for path in sorted(folder.iterdir()):
        noun, broader = noun_of_photograph(path.stem)
        if noun:
            pixels = pixels_of(path)
            height, width = pixels.shape[:2]
            square = square_crop(pixels, (0, 0, width, height), SIDE, grown=1.0)
            yield NamedCrop(_mirrored(square, rng), Called(noun, broader))


def crops_of_captioned(root: Path, but: Collection[str], seed: int = 0) -> Iterator[NamedCrop]:
    """The people whom captions tell of, in a folder as `coco-val` reads it; pictures in `but` are left out."""
    rng = Random(seed)
    path = need(root, ("instances.json",))
    index, captions = read_coco(path), read_json(root / "captions.json")
    with as_published(path):
        boxes: dict[int, list[tuple[str, Box, bool]]] = {number: [] for number in index.images}
        for each in index.annotations.values():
            x, y, width, height = each["bbox"]
            name = str(index.categories[each["category_id"]]["name"])
            boxes[each["image_id"]].append((name, (x, y, x + width, y + height), not each.get("iscrowd")))
        for number, image in sorted(index.images.items()):
            told = told_by(captions.get(f"{number:012d}") or captions.get(str(number), []))
            person = _only_person(boxes[number], LEAST_SHARE * image["width"] * image["height"])
            if told is None or person is None or image["file_name"] in but:
                continue
            pixels = pixels_of(root / "images" / str(image["file_name"]))
            noun, false = told
            broader = () if noun == "person" else ("person",)
            denied = (*false, *denied_roles({name for name, _, _ in boxes[number]}))
            for _ in range(TIMES):
                yield NamedCrop(_shaken(pixels, person, 1.0, rng), Called(noun, broader, denied))


def called_among(noun: str, broader: tuple[str, ...], around: Collection[str]) -> Called:
    """What a thing is called in a picture of things `around`: people are not what it takes other things for."""
    return Called(noun, broader, denied_roles(around) if noun == "person" else ())


def crop_in_square(pixels: Pixels, box: Box, aspect: float, called: Called, rng: Random) -> NamedCrop:
    """The crop around a box, in fractions of the sides, of a picture that was squashed from such an aspect."""
    height, width = pixels.shape[:2]
    left, top, right, bottom = box
    return NamedCrop(_shaken(pixels, (left * width, top * height, right * width, bottom * height), aspect, rng), called)


def _only_person(things: list[tuple[str, Box, bool]], least: float) -> Box | None:
    """The box of the one person of some size that is not a crowd; None where there is nobody, or several."""
    people = sorted(((_area(box), box, is_one) for name, box, is_one in things if name == "person"), reverse=True)
    if not people or people[0][0] < least or not people[0][2]:
        return None
    return people[0][1] if len(people) == 1 or people[0][0] >= _ALONE * people[1][0] else None


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _shaken(pixels: Pixels, box: Box, aspect: float, rng: Random) -> Pixels:
    left, top, right, bottom = box
    x, y = (rng.uniform(-_SHIFTED, _SHIFTED) * each for each in (right - left, bottom - top))
    moved = (left + x, top + y, right + x, bottom + y)
    return _mirrored(square_crop(pixels, moved, SIDE, aspect, rng.uniform(*_GROWN)), rng)


def _mirrored(pixels: Pixels, rng: Random) -> Pixels:
    return pixels[:, ::-1].copy() if rng.random() < 0.5 else pixels
