"""Drawn sprites and plain backgrounds, and packs of them: one without some classes, others with all."""

import json
import math
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
JUDGED = 120  # variants of the cut-outs that the grounding module learns from


def make_packs(folder: Path) -> tuple[Path, Path]:
    """The pack whose training split lacks the held-out classes, and the one that has all of them."""
    some, everything = folder / "pack_some", folder / "pack_all"
    if not (everything / "index.json").exists():
        sources = Sources(sprites=[_sprites(folder / "sprites")], backgrounds=[_backgrounds(folder / "backgrounds")])
        compose(sources, some, HELD_OUT, _limits(VARIANTS))
        compose(sources, everything, (), _limits(VARIANTS))
    return some, everything


def make_judged_pack(folder: Path) -> Path:
    """A pack of all classes whose cut-outs are in no other, so that no member was trained on them."""
    judged = folder / "pack_judged"
    if not (judged / "index.json").exists():
        sprites = _sprites(folder / "sprites_judged", JUDGED, "judged_", seed=1)
        compose(
            Sources(sprites=[sprites], backgrounds=[_backgrounds(folder / "backgrounds")]), judged, (), _limits(JUDGED)
        )
    return judged


def _limits(variants: int) -> Limits:
    return Limits(per_noun=variants, photographs=40, cutout_side=SIDE, photograph_side=64)


def _sprites(folder: Path, variants: int = VARIANTS, prefix: str = "", seed: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    listing = []
    for noun, (form, colour) in NOUNS.items():
        for variant in range(variants):
            file = f"{prefix}{noun}_{variant}.webp"
            shade = tuple(int(np.clip(c + rng.integers(-18, 19), 0, 255)) for c in colour)
            _drawn(form, shade, rng).save(folder / file, lossless=True)
            listing.append({"file": file, "name": noun, "category": "Objects"})
    (folder / "names.json").write_text(json.dumps(listing))
    return folder


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
