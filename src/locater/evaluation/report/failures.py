"""The worst answers as pictures: what was meant above, what was marked below."""

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


def worst(samples: Sequence[SampleScore], count: int) -> list[SampleScore]:
    """The answers with the lowest J&F, the lowest first; equal ones by their key."""
    scored = [(sample.j_and_f, sample.info.key, sample) for sample in samples if sample.j_and_f is not None]
    return [sample for _, _, sample in sorted(scored, key=lambda each: each[:2])[:count]]


def write_failures(folder: Path, dataset: Dataset, samples: Sequence[SampleScore], count: int) -> None:
    """One PNG for each of the `count` worst answers, numbered from the worst."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, sample in enumerate(worst(samples, count), start=1):
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", sample.info.key)[:80]
        failure_picture(dataset, sample).save(folder / f"{number:02d}_{name}.png")


def failure_picture(dataset: Dataset, score: SampleScore) -> Image.Image:
    """Some annotated frames of one answer, the truth above the prediction, its sentence on top."""
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
    return _with_header(pairs, score)


def _tile(pixels: Pixels, mask: Mask) -> Pixels:
    """The frame with its mask, small; a truth of another size is fitted to the frame, for the eye alone."""
    height, width = pixels.shape[:2]
    if mask.shape != (height, width):
        mask = np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST))
    size = (max(1, round(width * _TILE_HEIGHT / height)), _TILE_HEIGHT)
    return np.asarray(Image.fromarray(draw(pixels, mask[None])).resize(size, Image.Resampling.BILINEAR))


def _with_header(pairs: Sequence[Image.Image], score: SampleScore) -> Image.Image:
    gap = 4
    width = max(480, sum(pair.width + gap for pair in pairs) - gap)
    sheet = Image.new("RGB", (width, _HEADER + pairs[0].height), (18, 20, 24))
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    pen.text((6, 3), shorten(score.info.expression, font, width - 12), (238, 240, 243), font)
    facts = (
        f"J {100 * (score.j or 0):.1f}  F {100 * (score.f or 0):.1f}  truth above, prediction below  {score.info.key}"
    )
    pen.text((6, 23), shorten(facts, font, width - 12), (150, 156, 165), font)
    left = 0
    for pair in pairs:
        sheet.paste(pair, (left, _HEADER))
        left += pair.width + gap
    return sheet
