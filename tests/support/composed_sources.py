"""Tiny made sources of the composed world: a COCO file, Pet-like folders, sprites, plain photographs."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from locater.io import rle
from locater.worlds.composed import Limits, Pack, Sources, compose

PAINT = {"red": (205, 30, 35), "blue": (35, 70, 185), "green": (50, 140, 55), "white": (245, 245, 245)}
COCO_CLASSES = ("dog", "car", "zebra", "person", "boat")
Marks = list[tuple[str, tuple[int, int, int, int]]]  # nouns, each with left, top, right and bottom in pixels
SMALL = Limits(per_noun=40, photographs=40, cutout_side=64, photograph_side=64)


def photograph(seed: int, width: int = 160, height: int = 128) -> Image.Image:
    """Soft noise, the same for the same seed."""
    noise = np.random.default_rng(seed).integers(70, 150, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC)


def make_coco(folder: Path, count: int = 36) -> tuple[Path, Path]:
    """Photographs with two whole objects each, one of them as polygons and one as run lengths, and a crowd in some."""
    images = folder / "coco"
    images.mkdir(parents=True)
    content: dict[str, list[Any]] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": index, "name": name} for index, name in enumerate(COCO_CLASSES, start=1)],
    }
    for number in range(count):
        picture = photograph(number)
        draw = ImageDraw.Draw(picture)
        content["images"].append({"id": number, "file_name": f"{number:04d}.png", "height": 128, "width": 160})
        for place, left in enumerate((12, 92)):
            kind = (number + place * 2) % len(COCO_CLASSES)
            colour = list(PAINT)[(number // 5 + place) % len(PAINT)]
            top = 20 + number % 30
            polygon = [left, top + 12, left + 22, top, left + 50, top + 16, left + 44, top + 48, left + 6, top + 44]
            draw.polygon(polygon, fill=PAINT[colour])
            mask = Image.new("1", (160, 128))
            ImageDraw.Draw(mask).polygon(polygon, fill=1)
            runs = {"size": [128, 160], "counts": rle.encode(np.array(mask)).decode()}
            content["annotations"].append(
                {
                    "id": 10 * number + place,
                    "image_id": number,
                    "category_id": kind + 1,
                    "iscrowd": 0,
                    "segmentation": runs if place else [polygon],
                }
            )
        if number % 6 == 0:
            crowd = {"size": [128, 160], "counts": [128 * 150, 1280]}
            content["annotations"].append(
                {"id": 10 * number + 5, "image_id": number, "category_id": 4, "iscrowd": 1, "segmentation": crowd}
            )
        picture.save(images / f"{number:04d}.png")
    file = folder / "instances.json"
    file.write_text(json.dumps(content))
    return file, images


def make_marked(folder: Path, pictures: Mapping[str, Marks], count: int) -> tuple[Path, Path]:
    """Photographs of the kinds given, in turns, each with its things as rectangles; a kind is in the file's name."""
    (folder / "marked").mkdir(parents=True)
    nouns = list(dict.fromkeys(noun for marks in pictures.values() for noun, _ in marks))
    content: dict[str, list[Any]] = {"images": [], "annotations": []}
    content["categories"] = [{"id": place, "name": noun} for place, noun in enumerate(nouns)]
    for number in range(count):
        kind = list(pictures)[number % len(pictures)]
        picture, name = photograph(number), f"{kind}_{number}.png"
        content["images"].append({"id": number, "file_name": name, "height": 128, "width": 160})
        for noun, (left, top, right, bottom) in pictures[kind]:
            ImageDraw.Draw(picture).rectangle((left, top, right, bottom), fill=(40 + 30 * nouns.index(noun), 90, 60))
            outline = [left, top, right, top, right, bottom, left, bottom]
            thing = {"image_id": number, "category_id": nouns.index(noun), "iscrowd": 0, "segmentation": [outline]}
            content["annotations"].append({"id": len(content["annotations"]), **thing})
        picture.save(folder / "marked" / name)
    (folder / "marked.json").write_text(json.dumps(content))
    return folder / "marked.json", folder / "marked"


def make_pets(folder: Path, per_breed: int = 14) -> tuple[Path, Path]:
    """Two breeds of dogs and one of cats, with trimaps 0, 1, 2."""
    images, masks = folder / "pets" / "images", folder / "pets" / "trimaps"
    images.mkdir(parents=True)
    masks.mkdir(parents=True)
    for breed, colour in (("beagle", "white"), ("saint_bernard", "red"), ("Bombay", "blue")):
        for number in range(per_breed):
            picture, trimap = photograph(500 + number, 120, 120), Image.new("L", (120, 120))
            box = (30, 34, 84 + number % 8, 90)
            ImageDraw.Draw(picture).ellipse(box, fill=PAINT[colour])
            ImageDraw.Draw(trimap).ellipse((box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2), fill=2)
            ImageDraw.Draw(trimap).ellipse(box, fill=1)
            picture.save(images / f"{breed}_{number}.jpg", quality=95)
            trimap.save(masks / f"{breed}_{number}.png")
    return images, masks


def make_sprites(folder: Path) -> Path:
    """Green sprites with names.json; the last two have no fit noun."""
    sprites = folder / "sprites"
    sprites.mkdir(parents=True)
    names = [f"{word} toy" for word in ("round", "wooden", "metal", "paper", "glass", "stone", "soft", "hard")]
    listing = []
    for number, name in enumerate([*names, "left arrow", "smile"]):
        picture = Image.new("RGBA", (64, 64))
        ImageDraw.Draw(picture).rounded_rectangle((8, 10, 56, 52), 12, fill=(*PAINT["green"], 255))
        picture.save(sprites / f"{number}.webp", lossless=True)
        listing.append({"file": f"{number}.webp", "name": name, "category": "Flags" if name == "smile" else "Objects"})
    (sprites / "names.json").write_text(json.dumps(listing))
    return sprites


def make_backgrounds(folder: Path, count: int = 14) -> Path:
    """Photographs of nothing, but for one whose name says that it shows a dog."""
    backgrounds = folder / "places"
    backgrounds.mkdir(parents=True)
    for number in range(count):
        photograph(900 + number).save(backgrounds / f"meadow_{number}.png")
    photograph(990).save(backgrounds / "n02088364_beagle.png")
    return backgrounds


def make_sources(folder: Path) -> Sources:
    """All of them."""
    return Sources(
        coco=[make_coco(folder)],
        masks=[("breeds", *make_pets(folder))],
        sprites=[make_sprites(folder)],
        backgrounds=[make_backgrounds(folder)],
    )


@cache
def small_pack() -> Pack:
    """A pack of all of them with zebras held out, made once a test process."""
    folder = Path(tempfile.mkdtemp(prefix="composed-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    compose(make_sources(folder), folder / "pack", ["zebra"], SMALL)
    return Pack(folder / "pack")
