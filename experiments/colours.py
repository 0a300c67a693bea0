"""What colour words do: on real clips, where one thing can be meant, and on two of a class that are dyed differently.

    python -m experiments.colours CHECKPOINT PACK [--davis ROOT] [--scenes 100]

Scenes: those of `locater evaluate CHECKPOINT positions PACK`, the one on the left dyed in one colour and the one on the
right in another, each asked for by its colour. Printed for each colour: how often the mask overlaps more with the one
that is meant, and how often it is empty. Clips: some sequences of the development benchmark, every twelfth frame, the
bare noun and the noun with each colour before it, whatever colour the thing has. Printed for each colour: the mean J.
"""

import argparse
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np

import locater
from experiments.machine import machine
from locater.datasets.davis import DavisSentences
from locater.inference.segmenter import Segmenter
from locater.video.overlap import mask_iou
from locater.worlds.composed import Pack, Textures
from locater.worlds.composed.pack.colours import COLOURS
from locater.worlds.composed.position_world import PositionVideo
from locater.worlds.composed.scene.dyes import DYE_WORDS, DYES, draw_dye, in_dye
from locater.worlds.composed.scene.positions import SIDES, PositionSampler

NOUNS = {
    "motorbike": "motorbike",
    "bear": "bear",
    "flamingo": "bird",
    "car-turn": "car",
    "hike": "man",
    "bus": "bus",
    "elephant": "elephant",
    "dog-agility": "dog",
}
EVERY = 12
SIZE = 256


def on_scenes(segmenter: Segmenter, pack: Pack, count: int) -> None:
    """Two of a class in two colours."""
    sampler, textures = PositionSampler(pack), Textures(pack)
    found: dict[str, list[tuple[bool, bool]]] = defaultdict(list)  # by colour: is it right, is it empty
    for number in range(count):
        rng = Random(number)
        pair = sampler.scene(number)
        left = draw_dye(rng)
        right = draw_dye(rng, DYE_WORDS - {DYES[left].word} - DYES[left].doubtful)
        actors = list(pair.scene.actors)
        for side, dye in zip(SIDES, (left, right), strict=True):
            actors[pair.actors[side]] = in_dye(actors[pair.actors[side]], dye)
        video = PositionVideo("", replace(pair, scene=replace(pair.scene, actors=tuple(actors))), textures, SIZE)
        words = [DYES[dye].word for dye in (left, right)]
        frame = next(iter(video.frames())).pixels
        masks = next(iter(segmenter.segment([frame], [f"the {word} {pair.noun}" for word in words]))).masks
        truths = [video.of_side(side)[0] for side in SIDES]
        for place, (word, mask) in enumerate(zip(words, masks, strict=True)):
            meant, other = mask_iou(mask, truths[place]), mask_iou(mask, truths[1 - place])
            found[word].append((meant > other, not mask.any()))
    print(f"{'two of a class':<16}{'asked':>8}{'right':>8}{'empty':>8}")
    found["all"] = [flag for of_word in found.values() for flag in of_word]
    for word, flags in found.items():
        is_right, is_empty = np.array(flags).mean(axis=0)
        print(f"{word:<16}{len(flags):>8}{is_right:>8.1%}{is_empty:>8.1%}")


def on_clips(segmenter: Segmenter, root: Path) -> None:
    """One thing, whatever colour is said."""
    dataset = DavisSentences(root, "train")
    found: dict[str, list[float]] = defaultdict(list)
    for info in dataset.samples():
        if info.video not in NOUNS or info.kind != "noun":
            continue
        sample = dataset.load(info)
        frames = list(sample.frames.frames(every=EVERY))
        said = {"": f"the {NOUNS[info.video]}"} | {word: f"the {word} {NOUNS[info.video]}" for word in COLOURS}
        pictures, sentences = [frame.pixels for frame in frames], list(said.values())
        told = segmenter.segment(pictures, sentences, frames_per_second=24 / EVERY)
        for frame, result in zip(frames, told, strict=True):
            for word, mask in zip(said, result.masks, strict=True):
                found[word].append(mask_iou(mask, sample.masks[frame.index]))
    print(f"{'one thing':<16}{'mean J':>8}")
    for word, values in found.items():
        print(f"{word or 'the bare noun':<16}{np.mean(values):>8.3f}")


def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("pack", type=Path)
    parser.add_argument("--davis", type=Path)
    parser.add_argument("--scenes", type=int, default=100)
    arguments = parser.parse_args()
    print(machine())
    segmenter = locater.load(arguments.checkpoint, "cpu", precision="bfloat16")
    on_scenes(segmenter, Pack(arguments.pack), arguments.scenes)
    if arguments.davis is not None:
        on_clips(segmenter, arguments.davis)
    return 0


if __name__ == "__main__":
    sys.exit(main())
