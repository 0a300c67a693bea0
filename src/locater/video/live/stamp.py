"""A line of text in a picture's upper left corner, for what is shown while it happens."""

import numpy as np
from PIL import Image, ImageDraw

from locater.records import Pixels
from locater.video.fonts import font_for
from locater.video.overlay import shorten

_PAPER, _INK = (18, 20, 24), (238, 240, 243)


def stamped(pixels: Pixels, text: str) -> Pixels:
    """A copy of the picture (H, W, 3) with the text on it, small, on a dark field."""
    size = max(9, min(round(pixels.shape[0] / 30), 32))
    font = font_for(text, size)
    text = shorten(text, font, pixels.shape[1] - size)
    image = Image.fromarray(pixels)
    pen = ImageDraw.Draw(image)
    _, _, right, bottom = pen.textbbox((size // 2, size // 3), text, font=font)
    pen.rectangle((0, 0, right + size // 2, bottom + size // 3), fill=_PAPER)
    pen.text((size // 2, size // 3), text, fill=_INK, font=font)
    return np.asarray(image)
