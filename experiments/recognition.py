"""What a checkpoint's recogniser knows by itself: where a thing is by its name alone, and whether it is there.

    python -m experiments.recognition CHECKPOINT PACK [--photographs 120] [--split validation]

Photographs of one named thing that training never saw. Printed: how often a patch inside the thing is more like its
noun than one outside (chance 0.5), and the likeness of the patches inside to that noun, to one of its kind, and to any
other.
"""

import random
import sys

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

import locater
from experiments.machine import machine
from experiments.words.strange_words import absent_nouns, asked, numbers, upright
from locater.model.locater import Locater
from locater.worlds.composed import Pack


def likeness(model: Locater, picture: Tensor, nouns: list[str]) -> Tensor:
    """(nouns, rows, columns): each patch's likeness to the word of each noun that it is most like."""
    height, width = model.config.input_size(*picture.shape[-2:])
    frame = F.interpolate(picture[None], size=(height, width), mode="bilinear", antialias=True)
    seen = model.visual(frame[None])
    words = model.text(model.read(nouns)).meanings
    assert seen.meanings is not None and words is not None
    found = torch.einsum("pe,nwe->npw", seen.meanings[0, 0], words).amax(-1)
    return found.view(-1, *seen.grid)


def above(inside: Tensor, outside: Tensor) -> float:
    """How often a number of the first kind is larger than one of the second."""
    return float((inside[:, None] > outside[None]).float().mean())


def main() -> int:
    """0, always: the numbers are the result."""
    arguments = asked()
    print(machine())
    model = locater.load(arguments.checkpoint, device="cpu").model
    if model.recognition is None:
        sys.exit("This network recognises nothing; visual.recognises is off.")
    pack, rng = Pack(arguments.pack), random.Random(0)
    rows = []
    for number in numbers(pack, arguments.split, arguments.photographs, rng):
        picture, mask = upright(pack, number)
        nouns = [pack.photographs[number].things[0].noun, *absent_nouns(pack, number, rng)]
        with torch.inference_mode():
            maps = likeness(model, torch.from_numpy(picture.copy()).permute(2, 0, 1) / 255, nouns)
        share = F.adaptive_avg_pool2d(torch.from_numpy(mask).float()[None], (maps.shape[-2], maps.shape[-1]))[0]
        own, *_ = maps
        rows.append((above(own[share > 0.5], own[share < 0.1]), *(float(each[share > 0.5].mean()) for each in maps)))
    names = ("inside above outside", "like its noun", "one of its kind", "any other")
    for name, value in zip(names, np.nanmean(np.array(rows), axis=0), strict=True):
        print(f"{name:22s} {value:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
