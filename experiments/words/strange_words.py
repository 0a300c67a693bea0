"""How much words that nobody trained on spoil: single photographs of named things, kept out of training.

    python -m experiments.words.strange_words CHECKPOINT PACK [--photographs 120] [--split validation]

Each photograph of a pack that shows one thing of a fair size is asked for that thing by its bare noun, by the noun with
additions that say nothing, for a thing of the same kind that is not there, and for any other. Printed: the mean IoU,
and how often the mask is empty.
"""

import argparse
import random
import sys

import numpy as np
from PIL import Image

import locater
from experiments.machine import machine
from locater.inference.segmenter import Segmenter
from locater.records import Mask, Pixels
from locater.video.overlap import mask_iou
from locater.worlds.composed import Pack

LEAST_SHARE = 0.04  # of the photograph that the thing covers
LEAST_MARKED = 20  # pixels: less is nothing
ADDITIONS = {
    "the noun": "the {}",
    "in front": "the {} in front",
    "closest": "the {} closest to the camera",
    "covered": "the {} covered in stickers near the old fountain",
    "jealous": "the jealous {} attempting to escape from the giant magnet",
}


def numbers(pack: Pack, split: str, count: int, rng: random.Random) -> list[int]:
    """Photographs of the split that show one thing, a fair one."""
    fitting = [
        number
        for number, photograph in enumerate(pack.photographs)
        if photograph.split == split and len(photograph.things) == 1 and photograph.things[0].share > LEAST_SHARE
    ]
    rng.shuffle(fitting)
    return fitting[:count]


def upright(pack: Pack, number: int) -> tuple[Pixels, Mask]:
    """The photograph and its thing's mask, no longer squashed to a square."""
    photograph = pack.photographs[number]
    side = pack.photograph_side
    size = (round(side * photograph.aspect**0.5), round(side / photograph.aspect**0.5))
    mask = pack.photograph_numbers(number) == photograph.things[0].number
    return (
        np.asarray(Image.fromarray(pack.photograph_pixels(number)).resize(size, Image.Resampling.BILINEAR)),
        np.array(Image.fromarray(mask).resize(size, Image.Resampling.NEAREST)),  # a copy: PyTorch wants to write
    )


def absent_nouns(pack: Pack, number: int, rng: random.Random) -> tuple[str, str]:
    """A noun of the thing's kind, where there is one, and any noun, both surely not in the photograph."""
    photograph = pack.photographs[number]
    thing = photograph.things[0]
    maybe = pack.nouns.doubtful(thing.noun) | {thing.noun, *thing.broader, *photograph.vague}
    others = [noun for noun in pack.nouns.broader if noun not in maybe]
    akin = [noun for noun in pack.nouns.akin(thing.noun) if noun not in maybe]
    return rng.choice(akin or others), rng.choice(others)


def masks_of(segmenter: Segmenter, picture: Pixels, sentences: list[str]) -> list[Mask]:
    """A mask a sentence."""
    return list(next(iter(segmenter.segment([picture], sentences, anyway=True))).masks)


def asked() -> argparse.Namespace:
    """What was said on the command line: a checkpoint, a pack, and which of its photographs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("pack")
    parser.add_argument("--photographs", type=int, default=120)
    parser.add_argument("--split", default="validation")
    return parser.parse_args()


def main() -> int:
    """0, always: the numbers are the result."""
    arguments = asked()
    print(machine())
    pack, segmenter, rng = Pack(arguments.pack), locater.load(arguments.checkpoint), random.Random(1)
    overlaps: dict[str, list[float]] = {name: [] for name in ADDITIONS}
    empty: dict[str, list[bool]] = {name: [] for name in (*ADDITIONS, "akin, absent", "any, absent")}
    for number in numbers(pack, arguments.split, arguments.photographs, rng):
        picture, truth = upright(pack, number)
        noun = pack.photographs[number].things[0].noun
        said = [sentence.format(noun) for sentence in ADDITIONS.values()]
        said += [f"the {absent}" for absent in absent_nouns(pack, number, rng)]
        masks = masks_of(segmenter, picture, said)
        for name, mask in zip(empty, masks, strict=True):
            empty[name].append(int(mask.sum()) < LEAST_MARKED)
            if name in overlaps:
                overlaps[name].append(mask_iou(mask, truth))
    print(f"{'':<14}{'mean IoU':>10}{'empty':>8}")
    for name, flags in empty.items():
        overlap = f"{np.mean(overlaps[name]):.3f}" if name in overlaps else ""
        print(f"{name:<14}{overlap:>10}{np.mean(flags):>8.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
