"""Writes a folder of two clips with sentences that the `default` checkpoint gets wrong, to fine-tune it on.

python -m experiments.finetune_folder --photo horse.jpg --mask horse.png --out FOLDER

One clip is the demo clip with its true masks; the other is a photograph of one animal, brought to life by a slow pan.
Some of the sentences are proper names, as people give them to what is theirs.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from PIL import Image

from locater.inference.demo import demo_clip
from locater.io.pictures import pixels_of
from locater.records import Mask, Pixels
from locater.video.reader import open_source

FRAMES, HEIGHT, WIDTH = 24, 288, 384
# Of the demo clip: a sentence, and the demo's own sentence that means the same thing.
OF_THE_CLIP = {
    "Oskar": "the cat on the left",
    "the cat that jumps at the end": "the cat on the right",
    "the latte": "the cup that moves to the left",
}
OF_THE_PHOTOGRAPH = ("Fury", "the piebald")


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photo", type=Path, required=True)
    parser.add_argument("--mask", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rows = [*write_cafe(arguments.out), *write_animal(arguments.out, arguments.photo, arguments.mask)]
    with (arguments.out / "sentences.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["video", "expression", "object"], *rows])


def write_cafe(out: Path) -> list[list[str]]:
    """The demo clip as pictures with masks, and its lines of the table."""
    clip = demo_clip()
    for frame in open_source(clip.path).frames(every=2):
        save(
            out,
            "cafe",
            frame.index,
            frame.pixels,
            {
                f"object{number}": truth[frame.index]
                for number, truth in enumerate(clip.truths)
                if truth[frame.index].any()
            },
        )
    objects = {expression: f"object{number}" for number, expression in enumerate(clip.expressions)}
    return [["cafe", said, objects[means]] for said, means in OF_THE_CLIP.items()]


def write_animal(out: Path, photo: Path, mask: Path) -> list[list[str]]:
    """A slow pan over a photograph with its mask, and its lines of the table."""
    pixels = Image.fromarray(pixels_of(photo))
    truth = Image.open(mask).convert("L").resize(pixels.size, Image.Resampling.NEAREST)
    for index in range(FRAMES):
        share = index / (FRAMES - 1)
        scale = 0.80 + 0.15 * np.sin(2.2 * share)
        width, height = pixels.width * scale, pixels.height * scale
        left, top = (pixels.width - width) * share, (pixels.height - height) * (0.5 + 0.4 * np.cos(3 * share))
        box = (round(left), round(top), round(left + width), round(top + height))
        shown = pixels.resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC, box)
        marked = np.asarray(truth.resize((WIDTH, HEIGHT), Image.Resampling.NEAREST, box)) > 127
        save(out, "animal", index, np.asarray(shown), {"animal": marked})
    return [["animal", said, "animal"] for said in OF_THE_PHOTOGRAPH]


def save(out: Path, video: str, index: int, pixels: Pixels, masks: dict[str, Mask]) -> None:
    """One frame and its masks, one folder for each object."""
    name = f"{index:05d}"
    target = out / "videos" / video / f"{name}.jpg"
    target.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(target, quality=92)
    for each, mask in masks.items():
        (out / "masks" / video / each).mkdir(parents=True, exist_ok=True)
        Image.fromarray(mask).save(out / "masks" / video / each / f"{name}.png")


if __name__ == "__main__":
    main()
