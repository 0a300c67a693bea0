"""The worst and the best answers as pictures: what was meant above, what was marked below."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from locater.evaluation.metrics.sample_score import SampleScore
from locater.records import Dataset, Mask, Pixels
from locater.video.overlay import draw, shorten

_COLUMNS = 6
_TILE_HEIGHT = 180
_HEADER = 44
_GAP = 4
_DARK = (18, 20, 24)


def worst(samples: Sequence[SampleScore], count: int) -> list[SampleScore]:
    """The answers with the lowest J&F, the lowest first; equal ones by their key."""
    scored = [(sample.j_and_f, sample.info.key, sample) for sample in samples if sample.j_and_f is not None]
    return [sample for _, _, sample in sorted(scored, key=lambda each: each[:2])[:count]]


def best(samples: Sequence[SampleScore], count: int) -> list[SampleScore]:
    """The answers with the highest J&F where there was something to mark, the highest first; equal ones by their key."""
    seen = [sample for sample in samples if any(frame.counts.truth_area for frame in sample.frames)]
    scored = [(-sample.j_and_f, sample.info.key, sample) for sample in seen if sample.j_and_f is not None]
    return [sample for _, _, sample in sorted(scored, key=lambda each: each[:2])[:count]]


def write_failures(folder: Path, strips: Sequence[tuple[SampleScore, Image.Image]]) -> None:
    """One PNG for each of some answers and its film strip, numbered in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (score, strip) in enumerate(strips, start=1):
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", score.info.key)[:80]
        _with_header(strip, score).save(folder / f"{number:02d}_{name}.png")


def film_strip(dataset: Dataset, score: SampleScore) -> Image.Image:
    """Some annotated frames of one answer side by side, the truth above the prediction."""
    sample = dataset.load(score.info)
    indices = [frame.index for frame in score.frames]
    places = np.linspace(0, len(indices) - 1, min(_COLUMNS, len(indices))).round().astype(int)
    wanted = [indices[place] for place in dict.fromkeys(places.tolist())]
    pairs: list[Image.Image] = []
    for frame in sample.frames.frames():
        if frame.index in wanted:
            masks = sample.masks[frame.index], score.predictions[frame.index].mask()
            tiles = [_tile(frame.pixels, mask) for mask in masks]
            pairs.append(Image.fromarray(np.concatenate(tiles)))
        if frame.index >= wanted[-1]:
            break
    return _beside(pairs)


def _tile(pixels: Pixels, mask: Mask) -> Pixels:
    """The frame with its mask, small; a truth of another size is fitted to the frame, for the eye alone."""
    height, width = pixels.shape[:2]
    if mask.shape != (height, width):
        mask = np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST))
    size = (max(1, round(width * _TILE_HEIGHT / height)), _TILE_HEIGHT)
    return np.asarray(Image.fromarray(draw(pixels, mask[None])).resize(size, Image.Resampling.BILINEAR))


def _beside(pairs: Sequence[Image.Image]) -> Image.Image:
    strip = Image.new("RGB", (sum(pair.width + _GAP for pair in pairs) - _GAP, pairs[0].height), _DARK)
    left = 0
    for pair in pairs:
        strip.paste(pair, (left, 0))
        left += pair.width + _GAP
    return strip


def _with_header(strip: Image.Image, score: SampleScore) -> Image.Image:
    width = max(480, strip.width)
    sheet = Image.new("RGB", (width, _HEADER + strip.height), _DARK)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    pen.text((6, 3), shorten(score.info.expression, font, width - 12), (238, 240, 243), font)
    facts = (
        f"J {100 * (score.j or 0):.1f}  F {100 * (score.f or 0):.1f}  truth above, prediction below  {score.info.key}"
    )
    pen.text((6, 23), shorten(facts, font, width - 12), (150, 156, 165), font)
    sheet.paste(strip, (0, _HEADER))
    return sheet
