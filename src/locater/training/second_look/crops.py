"""Crops of things with their nouns, from a pack's photographs and from photographs of single named things."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from locater.inference.judging import SIDE
from locater.io.pictures import pixels_of
from locater.records import Pixels
from locater.video.square_crop import square_crop
from locater.worlds.composed.pack.nouns import noun_of_photograph
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.pack.photographs import Shown

LEAST_SHARE = 0.02  # of a photograph's area: smaller things tell little in a pack's pictures
MOST, MOST_PEOPLE = 420, 1700  # crops of a noun
_GROWN = (1.0, 1.35)  # boxes around masks are not those that people draw
_SHIFTED = 0.06  # of the box's side


@dataclass(frozen=True)
class NamedCrop:
    """A crop, what it is called, and broader nouns that are true of it too."""

    pixels: Pixels
    noun: str
    broader: tuple[str, ...]


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
            pixels = _shaken(pack.photograph_pixels(number), thing, pack.photographs[number].aspect, rng)
            yield NamedCrop(pixels, thing.noun, thing.broader)


def crops_of_photographs(folder: Path, seed: int = 0) -> Iterator[NamedCrop]:
    """Whole photographs of single things that their files' names tell (`n02084071_dog.jpg`)."""
    rng = Random(seed)
    for path in sorted(folder.iterdir()):
        noun, broader = noun_of_photograph(path.stem)
        if noun:
            pixels = pixels_of(path)
            height, width = pixels.shape[:2]
            square = square_crop(pixels, (0, 0, width, height), SIDE, grown=1.0)
            yield NamedCrop(_mirrored(square, rng), noun, broader)


def _shaken(pixels: Pixels, thing: Shown, aspect: float, rng: Random) -> Pixels:
    height, width = pixels.shape[:2]
    left, top, right, bottom = thing.box
    x, y = (rng.uniform(-_SHIFTED, _SHIFTED) * each for each in (right - left, bottom - top))
    box = ((left + x) * width, (top + y) * height, (right + x) * width, (bottom + y) * height)
    return _mirrored(square_crop(pixels, box, SIDE, aspect, rng.uniform(*_GROWN)), rng)


def _mirrored(pixels: Pixels, rng: Random) -> Pixels:
    return pixels[:, ::-1].copy() if rng.random() < 0.5 else pixels
