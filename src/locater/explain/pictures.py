"""An explanation's pictures: masks, the words beneath them, and the places that memories were written from."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from locater.explain.explanation import Explanation
from locater.records import Mask, Pixels
from locater.video.overlay import clock_text, draw, shorten

_PAPER, _INK, _QUIET = (255, 255, 255), (28, 30, 34), (110, 116, 124)
_LIGHT, _DARK = np.array((246, 247, 249)), np.array((178, 34, 34))  # of a word nobody looks at, and of one all look at
_HEAT = np.array((255, 72, 32))
_MARGIN, _LINE = 12, 26


def marked(pixels: Pixels, mask: Mask) -> Image.Image:
    """A frame with one mask, in the second colour: the first one, red, is that of the places of memories."""
    return Image.fromarray(draw(pixels, np.stack([np.zeros_like(mask), mask])))


def heated(pixels: Pixels, places: npt.NDArray[np.float64], strongest: float) -> Image.Image:
    """A grey frame with `places` (rows, columns) in red, as deep as they come near to the `strongest`."""
    height, width = pixels.shape[:2]
    level = Image.fromarray((places / max(strongest, 1e-12)).clip(0, 1).astype(np.float32)).resize((width, height))
    share = 0.85 * np.asarray(level)[..., None]
    grey = pixels.mean(-1, keepdims=True).repeat(3, axis=-1)
    return Image.fromarray((grey * (1 - share) + _HEAT * share).round().clip(0, 255).astype(np.uint8))


def chosen_frames(explanation: Explanation, most: int) -> list[int]:
    """So many of the explanation's frames, by their places, spread evenly."""
    count = len(explanation.frames)
    return sorted(set(np.linspace(0, count - 1, min(most, count)).round().astype(int).tolist()))


def words_figure(
    explanation: Explanation,
    weights: npt.NDArray[np.float64],
    whose: str = "",
    most: int = 6,
    column: int = 240,
) -> Image.Image:
    """Frames with their masks and, beneath each, every word's weight (T, words): the paper's figure of attention."""
    places = chosen_frames(explanation, most)
    font, small = ImageFont.load_default(16), ImageFont.load_default(13)
    pictures = [marked(explanation.frames[place].pixels, explanation.masks[place]) for place in places]
    height = round(column * pictures[0].height / pictures[0].width)
    label = min(160, _MARGIN + round(max(font.getlength(word) for word in explanation.words)))
    top = _LINE + _MARGIN + height + 20
    size = (
        _MARGIN + label + len(places) * (column + _MARGIN),
        top + len(explanation.words) * _LINE + _MARGIN,
    )
    whole = Image.new("RGB", size, _PAPER)
    pen = ImageDraw.Draw(whole)
    pen.text(
        (_MARGIN, _MARGIN),
        shorten(f"“{explanation.expression}” {whose}".rstrip(), font, size[0] - 2 * _MARGIN),
        _INK,
        font,
    )
    for row, word in enumerate(explanation.words):
        middle = top + row * _LINE + _LINE // 2
        pen.text((_MARGIN + label - 8, middle), shorten(word, font, label - 8), _INK, font, anchor="rm")
    for number, place in enumerate(places):
        left = _MARGIN + label + number * (column + _MARGIN)
        whole.paste(pictures[number].resize((column, height)), (left, _LINE + _MARGIN))
        seconds = clock_text(explanation.frames[place].timestamp)
        pen.text((left + column // 2, _LINE + _MARGIN + height + 10), seconds, _QUIET, small, anchor="mm")
        _word_column(pen, weights[place].tolist(), left, top, column, small)
    return whole


def _word_column(
    pen: ImageDraw.ImageDraw,
    weights: Sequence[float],
    left: int,
    top: int,
    width: int,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
) -> None:
    for row, weight in enumerate(weights):
        box = (left, top + row * _LINE, left + width, top + (row + 1) * _LINE - 3)
        fill = (_LIGHT + (_DARK - _LIGHT) * min(1.0, weight)).round().astype(int).tolist()
        pen.rectangle(box, fill=tuple(fill))
        ink = _PAPER if weight > 0.55 else _INK
        pen.text((left + width // 2, (box[1] + box[3]) // 2), f"{weight:.2f}", ink, font, anchor="mm")
