"""Draws what the `default` checkpoint gets wrong, on the demo clip and on free pictures that scikit-image carries.

python -m experiments.failure_sheet --pictures skimage/data --out docs/pictures/default_failures.png
"""

import argparse
from pathlib import Path

from PIL import Image, ImageDraw

import locater
from locater.inference.demo import demo_clip
from locater.io.pictures import pixels_of
from locater.records import Mask, Pixels
from locater.video.overlay import draw

OF_THE_CLIP = ("the cat that jumps at the end", "the cat that stays still", "the saucer", "the table")
MOMENT = 38  # the frame of the clip in which the grey cat is in the air
OF_PICTURES = (
    ("astronaut.png", ("the flag", "the astronaut")),
    ("coffee.png", ("the handle of the cup",)),
    ("chelsea.png", ("the cat's nose",)),
)
CELL, COLUMNS, CAPTION = (320, 200), 4, 18


def main() -> None:
    """Write the sheet."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    segmenter = locater.load("default", "cpu")
    cells: list[tuple[str, Image.Image]] = []
    for result in segmenter.segment(demo_clip().path, OF_THE_CLIP):
        if result.frame.index == MOMENT:
            cells += zip(OF_THE_CLIP, (marked(result.frame.pixels, mask) for mask in result.masks), strict=True)
    for name, sentences in OF_PICTURES:
        picture = pixels_of(arguments.pictures / name)
        result = next(iter(segmenter.segment([picture, picture], sentences)))
        cells += zip(sentences, (marked(picture, mask) for mask in result.masks), strict=True)
    sheet(cells).save(arguments.out)


def marked(picture: Pixels, mask: Mask) -> Image.Image:
    """The picture with its mask."""
    return Image.fromarray(draw(picture, mask[None]))


def sheet(cells: list[tuple[str, Image.Image]]) -> Image.Image:
    """The pictures in rows, each below its sentence."""
    width, height = CELL
    rows = -(-len(cells) // COLUMNS)
    whole = Image.new("RGB", (width * COLUMNS, (height + CAPTION) * rows), (16, 18, 22))
    pen = ImageDraw.Draw(whole)
    for place, (sentence, picture) in enumerate(cells):
        row, column = divmod(place, COLUMNS)
        picture.thumbnail(CELL)
        whole.paste(picture, (column * width, row * (height + CAPTION) + CAPTION))
        pen.text((column * width + 4, row * (height + CAPTION) + 3), sentence, fill="white")
    return whole


if __name__ == "__main__":
    main()
