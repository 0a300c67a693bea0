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

_ASKED = {"default": 3, "shapes": 3}  # the sentence on a motion or an event, of each checkpoint's clip
_LABEL, _HEADER, _GAP = 110, 28, 10
_COLUMNS = 5
_INK, _QUIET = (238, 240, 243), (150, 156, 165)

MasksOfFrames = list[list[Mask]]  # by frame, then by sentence


def attention_figure(path: Path) -> None:
    """fig:queryattn: words over time by Eq. 10, and by what the object itself looks at, for both checkpoints."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        for name, place in _ASKED.items():
            segmenter = load(name, find_device(None))
            clip = clip_for(name, Path(folder) / f"{name}.mp4")
            found = explain(segmenter, open_source(str(clip.path)), clip.expressions[place], 5, anyway=True)
            pictures.append(words_figure(found, found.query_attention, f"{name}, Eq. 10"))
            pictures.append(words_figure(found, found.word_attention, f"{name}, what the object looks at"))
    _save(_stacked(pictures, (255, 255, 255)), path)


def qualitative_figure(path: Path) -> None:
    """fig:quali: frames, truth, the network on each frame alone, and the whole network, for both checkpoints."""
    pictures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in _ASKED:
            segmenter = load(name, find_device(None))
            clip = clip_for(name, Path(folder) / f"{name}.mp4")
            pictures += _compared(segmenter, clip)
    _save(_stacked(pictures, DARK), path)


def _compared(segmenter: Segmenter, clip: DemoClip) -> list[Image.Image]:
    source = open_source(str(clip.path))
    frames = list(source.frames())
    whole = [list(result.masks) for result in segmenter.segment(source, clip.expressions, anyway=True)]
    wanted = some_of(range(len(frames)), _COLUMNS)
    alone = {index: _alone(segmenter, frames[index], clip.expressions) for index in wanted}
    size = frames[0].pixels.shape[:2]
    nothing: dict[int, Mask | None] = dict.fromkeys(wanted)
    strips = []
    for number, expression in enumerate(clip.expressions):
        rows: Mapping[str, MaskOf] = {
            "input": mask_of(nothing, (size[0], size[1])),
            "ground truth": clip.truths[number].__getitem__,
            "each frame alone": lambda index, number=number: alone[index][number],  # type: ignore[misc]
            "LOCATER": lambda index, number=number: whole[index][number],  # type: ignore[misc]
        }
        strip = film_strip(source, list(rows.values()), wanted)
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
