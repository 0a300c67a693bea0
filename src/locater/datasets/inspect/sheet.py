"""One picture to look at a dataset by: frames with their masks, each over its sentence."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from locater.errors import LocaterError
from locater.io.atomic import atomic_path
from locater.io.pictures import SUFFIXES
from locater.records import Dataset, Pixels, Sample, SampleInfo
from locater.video.overlay import draw, shorten, wrap

_COLUMNS = 4
_SIDE = 320
_CAPTION = 62
_GAP = 10
_HEADER = 40
_PANEL = (18, 20, 24)
_TEXT = (238, 240, 243)
_QUIET = (150, 156, 165)


def write_contact_sheet(dataset: Dataset, path: Path, count: int = 12) -> int:
    """How many sentences the sheet written to `path` shows."""
    if path.suffix.lower() not in SUFFIXES:
        raise LocaterError(f"{path} is no name for a picture; end it in .png or .jpg.")
    sheet = contact_sheet(dataset, count)
    with atomic_path(path) as partial:
        sheet.save(partial)
    return min(count, len(dataset.samples()))


def contact_sheet(dataset: Dataset, count: int = 12) -> Image.Image:
    """Evenly spaced samples, one frame each; a sample that cannot be read shows why."""
    if count < 1:
        raise LocaterError(f"{count} pictures make no sheet; ask for one or more.")
    infos = dataset.samples()
    if not infos:
        raise LocaterError(f"{dataset.name} has no samples to show.")
    places = np.linspace(0, len(infos) - 1, min(count, len(infos))).round().astype(int)
    chosen = [infos[place] for place in places]
    columns = min(_COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    cell = (_SIDE + _GAP, round(_SIDE * 0.75) + _CAPTION + _GAP)
    sheet = Image.new("RGB", (_GAP + columns * cell[0], _HEADER + rows * cell[1]), _PANEL)
    pen = ImageDraw.Draw(sheet)
    title = f"{dataset.name}: {len(chosen)} of {len(infos):,} sentences"
    font = ImageFont.load_default(20)
    pen.text((_GAP, _HEADER // 2), shorten(title, font, sheet.width - 2 * _GAP), _TEXT, font, anchor="lm")
    for place, info in enumerate(chosen):
        corner = (_GAP + (place % columns) * cell[0], _HEADER + (place // columns) * cell[1])
        sheet.paste(_tile(dataset, info), corner)
    return sheet


def _tile(dataset: Dataset, info: SampleInfo) -> Image.Image:
    tile = Image.new("RGB", (_SIDE, round(_SIDE * 0.75) + _CAPTION), _PANEL)
    room = (_SIDE, tile.height - _CAPTION)
    pen = ImageDraw.Draw(tile)
    large, small = ImageFont.load_default(14), ImageFont.load_default(11)
    try:
        pixels, note = _picture(dataset.load(info))
        picture = Image.fromarray(pixels)
        picture.thumbnail(room, Image.Resampling.BILINEAR)
        tile.paste(picture, ((room[0] - picture.width) // 2, room[1] - picture.height))
    except LocaterError as error:
        note = "cannot be read"
        for number, line in enumerate(wrap(str(error), small, _SIDE - 8, 8)):
            pen.text((4, 4 + 15 * number), line, (240, 120, 110), small)
    for number, line in enumerate(wrap(info.expression, large, _SIDE, 2)):
        pen.text((0, room[1] + 4 + 18 * number), line, _TEXT, large)
    facts = " · ".join(part for part in (info.key, info.kind, note) if part)
    pen.text((0, tile.height - 18), shorten(facts, small, _SIDE), _QUIET, small)
    return tile


def _picture(sample: Sample) -> tuple[Pixels, str]:
    """The annotated frame in the middle, and its number; the first frame where nothing is annotated."""
    annotated = sorted(sample.masks)
    index = annotated[len(annotated) // 2] if annotated else 0
    frame = next(sample.frames.frames(start=index), None)
    if frame is None:
        raise LocaterError(f"{sample.info.video} has no frame {index + 1}, which has a mask.")
    if not annotated:
        return frame.pixels, "no masks"
    mask = sample.masks[index]
    if mask.shape != frame.pixels.shape[:2]:
        raise LocaterError(f"The mask of {sample.info.key} and its frame {index + 1} differ in size.")
    return draw(frame.pixels, mask[None]), f"frame {index + 1}{'' if mask.any() else ', empty mask'}"
