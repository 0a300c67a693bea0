"""The paper's figures, drawn anew on clips that need no download: words over time, and systems side by side."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from locater.compute.device import find_device
from locater.evaluation.report.film_strip import DARK, MaskOf, film_strip, mask_of, some_of
from locater.explain.explanation import explain
from locater.explain.pictures import words_figure
from locater.inference.demo import DemoClip, clip_for
from locater.inference.segmenter import Segmenter, load
from locater.io.atomic import atomic_path
from locater.records import Frame, Mask
from locater.video.overlay import shorten
from locater.video.reader import open_source

_MOTION = 3  # the place of the sentence on a motion or an event, in both clips
_COMPARED = {"default": (0, _MOTION), "shapes": (1, _MOTION)}  # each checkpoint's clip, and which of its sentences
_WRITTEN = 16  # frames that the memories are written from where words are followed
_SHRUNK = 0.6  # of film strips
_LABEL, _HEADER, _GAP = 110, 28, 10
_COLUMNS = 5
_INK, _QUIET = (238, 240, 243), (150, 156, 165)


def attention_figure(path: Path) -> None:
    """fig:queryattn: words over time by Eq. 10, and by what the object itself looks at, for both checkpoints."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in _COMPARED:
            segmenter = load(name, find_device(None))
            clip = clip_for(name, Path(folder) / f"{name}.mp4")
            found = explain(segmenter, open_source(str(clip.path)), clip.expressions[_MOTION], _WRITTEN, anyway=True)
            pictures.append(words_figure(found, found.query_attention, f"{name}, Eq. 10", _COLUMNS))
            pictures.append(words_figure(found, found.word_attention, f"{name}, what the object looks at", _COLUMNS))
    _save(_stacked(pictures, (255, 255, 255)), path)


def qualitative_figure(path: Path) -> None:
    """fig:quali: frames, truth, the network on each frame alone, and the whole network, for both checkpoints."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, places in _COMPARED.items():
            clip = clip_for(name, Path(folder) / f"{name}.mp4")
            pictures += _compared(load(name, find_device(None)), clip, places)
    _save(_stacked(pictures, DARK), path)


def _compared(segmenter: Segmenter, clip: DemoClip, places: Sequence[int]) -> list[Image.Image]:
    source = open_source(str(clip.path))
    frames = list(source.frames())
    asked = [clip.expressions[place] for place in places]
    whole = [list(result.masks) for result in segmenter.segment(source, asked, anyway=True)]
    wanted = some_of(range(len(frames)), _COLUMNS)
    alone = {index: _alone(segmenter, frames[index], asked) for index in wanted}
    size = frames[0].pixels.shape[:2]
    nothing: dict[int, Mask | None] = dict.fromkeys(wanted)
    strips = []
    for number, expression in enumerate(asked):
        rows: Mapping[str, MaskOf] = {
            "input": mask_of(nothing, (size[0], size[1])),
            "ground truth": clip.truths[places[number]].__getitem__,
            "each frame alone": lambda index, number=number: alone[index][number],  # type: ignore[misc]
            "LOCATER": lambda index, number=number: whole[index][number],  # type: ignore[misc]
        }
        strip = film_strip(source, list(rows.values()), wanted)
        strip = strip.resize((round(_SHRUNK * strip.width), round(_SHRUNK * strip.height)))
        strips.append(_labelled(strip, expression, list(rows)))
    return strips


def _alone(segmenter: Segmenter, frame: Frame, expressions: Sequence[str]) -> list[Mask]:
    """The masks of a frame that is a video of its own: no memory of any other."""
    (result,) = segmenter.segment([frame.pixels], expressions, anyway=True)
    return list(result.masks)


def _labelled(strip: Image.Image, expression: str, rows: Sequence[str]) -> Image.Image:
    sheet = Image.new("RGB", (_LABEL + strip.width, _HEADER + strip.height), DARK)
    pen, font, small = ImageDraw.Draw(sheet), ImageFont.load_default(16), ImageFont.load_default(13)
    pen.text((_LABEL, 5), shorten(f"“{expression}”", font, strip.width), _INK, font)
    height = strip.height / len(rows)
    for place, name in enumerate(rows):
        pen.text((_LABEL - 6, _HEADER + round((place + 0.5) * height)), name, _QUIET, small, anchor="rm")
    sheet.paste(strip, (_LABEL, _HEADER))
    return sheet


def _stacked(pictures: Sequence[Image.Image], background: tuple[int, int, int]) -> Image.Image:
    height = sum(each.height + _GAP for each in pictures) - _GAP
    sheet = Image.new("RGB", (max(each.width for each in pictures), height), background)
    tops = np.cumsum([0, *(each.height + _GAP for each in pictures[:-1])]).tolist()
    for top, each in zip(tops, pictures, strict=True):
        sheet.paste(each, (0, top))
    return sheet


def _save(picture: Image.Image, path: Path) -> None:
    with atomic_path(path) as partial:
        picture.save(partial, format="PNG")
