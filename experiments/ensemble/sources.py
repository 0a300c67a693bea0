"""Drawn sprites and plain backgrounds, and packs of them: some without a few classes, some with all."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from locater.worlds.composed import Limits, Sources, compose

HELD_OUT = ("star", "ring")
# Noun: corners of its outline (0: a disc) and colour. Held-out classes share their colours with others, so that
# neither is known by its colour alone.
NOUNS = {
    "ball": (0, (205, 40, 40)),
    "box": (4, (45, 80, 200)),
    "cone": (3, (235, 190, 40)),
    "leaf": (-2, (50, 150, 60)),
    "brick": (-4, (205, 40, 40)),
    "egg": (-1, (240, 240, 235)),
    "star": (5, (45, 80, 200)),
    "ring": (-3, (50, 150, 60)),
}
VARIANTS, SIDE = 24, 64
MORE = 120  # variants of each noun in each of the experiment's three sets
TURN, STRETCH = 20.0, 0.12  # at most, of a varied sprite: degrees, and of either side


@dataclass(frozen=True)
class Packs:
    """Packs of three sets of cut-outs that have none in common, of one set of backgrounds."""

    some: Path  # members': the training split lacks the held-out classes
    everything: Path  # members': all classes
    judged: Path  # the grounding module's: all classes
    asked: Path  # what all are asked about; splits validation, test, heldout


def make_packs(folder: Path) -> tuple[Path, Path]:
    """The pack whose training split lacks the held-out classes, and the one that has all of them."""
    some, everything = folder / "pack_some", folder / "pack_all"
    if not (everything / "index.json").exists():
        sources = Sources(sprites=[_sprites(folder / "sprites")], backgrounds=[_backgrounds(folder / "backgrounds")])
        compose(sources, some, HELD_OUT, _limits(VARIANTS))
        compose(sources, everything, (), _limits(VARIANTS))
    return some, everything


def make_three_sets(folder: Path) -> Packs:
    """Many and varied cut-outs for the members, as many others for the module, and others again to ask about."""
    packs = Packs(*(folder / f"pack_{name}" for name in ("some", "all", "judged", "asked")))
    if not (packs.asked / "index.json").exists():
        backgrounds = [_backgrounds(folder / "backgrounds", count=60)]
        sets = [_varied_sprites(folder / f"sprites_{name}", name) for name in ("members", "judged", "asked")]
        members, judged, asked = (Sources(sprites=[each], backgrounds=backgrounds) for each in sets)
        compose(members, packs.some, HELD_OUT, _limits(MORE))
        compose(members, packs.everything, (), _limits(MORE))
        compose(judged, packs.judged, (), _limits(MORE))
        compose(asked, packs.asked, HELD_OUT, _limits(MORE))
    return packs


def _limits(variants: int) -> Limits:
    return Limits(per_noun=variants, photographs=60, cutout_side=SIDE, photograph_side=64)


def _sprites(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    listing = []
    for noun, (form, colour) in NOUNS.items():
        for variant in range(VARIANTS):
            file = f"{noun}_{variant}.webp"
            _drawn(form, _shade(colour, 18, rng), rng).save(folder / file, lossless=True)
            listing.append({"file": file, "name": noun, "category": "Objects"})
    (folder / "names.json").write_text(json.dumps(listing))
    return folder


def _varied_sprites(folder: Path, name: str) -> Path:
    """Sprites of other shades, turned and stretched a little; those of another name have none in common."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(list(name.encode()))
    listing = []
    for noun, (form, colour) in NOUNS.items():
        for variant in range(MORE):
            file = f"{name}_{noun}_{variant}.webp"
            _varied(_drawn(form, _shade(colour, 26, rng), rng), rng).save(folder / file, lossless=True)
            listing.append({"file": file, "name": noun, "category": "Objects"})
    (folder / "names.json").write_text(json.dumps(listing))
    return folder


def _shade(colour: tuple[int, ...], reach: int, rng: np.random.Generator) -> tuple[int, ...]:
    return tuple(int(np.clip(c + rng.integers(-reach, reach + 1), 0, 255)) for c in colour)


def _varied(picture: Image.Image, rng: np.random.Generator) -> Image.Image:
    turned = picture.rotate(float(rng.uniform(-TURN, TURN)), Image.Resampling.BICUBIC)
    across, down = (round(SIDE * float(rng.uniform(1 - STRETCH, 1))) for _ in range(2))
    small = turned.resize((across, down), Image.Resampling.BICUBIC)
    varied = Image.new("RGBA", (SIDE, SIDE))
    varied.paste(small, ((SIDE - across) // 2, (SIDE - down) // 2))
    return varied


def _drawn(form: int, shade: tuple[int, ...], rng: np.random.Generator) -> Image.Image:
    picture = Image.new("RGBA", (SIDE, SIDE))
    draw = ImageDraw.Draw(picture)
    r = float(rng.uniform(24, 30))
    middle = SIDE / 2
    if form in (0, -1):
        flat = 1.0 if form == 0 else 0.65
        draw.ellipse((middle - flat * r, middle - r, middle + flat * r, middle + r), fill=(*shade, 255))
    elif form == -2:
        draw.ellipse((middle - r, middle - 0.4 * r, middle + r, middle + 0.4 * r), fill=(*shade, 255))
    elif form == -3:
        draw.ellipse((middle - r, middle - r, middle + r, middle + r), outline=(*shade, 255), width=11)
    elif form == -4:
        draw.rectangle((middle - r, middle - 0.45 * r, middle + r, middle + 0.45 * r), fill=(*shade, 255))
    elif form == 5:
        corners = [
            (middle + k * math.sin(math.pi * i / 5), middle - k * math.cos(math.pi * i / 5))
            for i in range(10)
            for k in (r if i % 2 == 0 else 0.45 * r,)
        ]
        draw.polygon(corners, fill=(*shade, 255))
    else:
        draw.regular_polygon((middle, middle, r), form, fill=(*shade, 255))
    return picture


def _backgrounds(folder: Path, count: int = 24) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        noise = np.random.default_rng(number).integers(80, 150, (5, 6, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((96, 96), Image.Resampling.BICUBIC).save(folder / f"meadow_{number}.png")
    return folder
