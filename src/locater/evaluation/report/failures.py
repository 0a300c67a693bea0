"""The worst and the best answers as pictures: what was meant above, what was marked below."""

import re
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.report.film_strip import DARK, film_strip, some_of
from locater.records import Dataset
from locater.video.overlay import shorten

_HEADER = 44


def worst(samples: Sequence[SampleScore], count: int) -> list[SampleScore]:
    """The answers with the lowest J&F, the lowest first; equal ones by their key."""
    scored = [(sample.j_and_f, sample.info.key, sample) for sample in samples if sample.j_and_f is not None]
    return [sample for _, _, sample in sorted(scored, key=lambda each: each[:2])[:count]]


def best(samples: Sequence[SampleScore], count: int) -> list[SampleScore]:
    """The answers with the highest J&F where there was something to mark, the highest first, then by key."""
    seen = [sample for sample in samples if any(frame.counts.truth_area for frame in sample.frames)]
    scored = [(-sample.j_and_f, sample.info.key, sample) for sample in seen if sample.j_and_f is not None]
    return [sample for _, _, sample in sorted(scored, key=lambda each: each[:2])[:count]]


def write_failures(folder: Path, strips: Sequence[tuple[SampleScore, Image.Image]]) -> None:
    """One PNG for each of some answers and its film strip, numbered in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (score, strip) in enumerate(strips, start=1):
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", score.info.key)[:80]
        _with_header(strip, score).save(folder / f"{number:02d}_{name}.png")


def answer_strip(dataset: Dataset, *scores: SampleScore) -> Image.Image:
    """Some annotated frames of one question, the truth above each of its answers."""
    sample = dataset.load(scores[0].info)
    rows = [lambda index, drawn=score.predictions: drawn[index].mask() for score in scores]
    wanted = some_of([frame.index for frame in scores[0].frames])
    return film_strip(sample.frames, [sample.masks.__getitem__, *rows], wanted)


def _with_header(strip: Image.Image, score: SampleScore) -> Image.Image:
    width = max(480, strip.width)
    sheet = Image.new("RGB", (width, _HEADER + strip.height), DARK)
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    pen.text((6, 3), shorten(score.info.expression, font, width - 12), (238, 240, 243), font)
    facts = (
        f"J {100 * (score.j or 0):.1f}  F {100 * (score.f or 0):.1f}  truth above, prediction below  {score.info.key}"
    )
    pen.text((6, 23), shorten(facts, font, width - 12), (150, 156, 165), font)
    sheet.paste(strip, (0, _HEADER))
    return sheet
