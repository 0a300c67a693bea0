"""Plots drawn with Pillow, which is always there: lines over a logarithmic axis, or bars."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 1000, 560
LEFT, RIGHT, TOP, BOTTOM = 90, 30, 60, 60
INK, FAINT = (30, 30, 30), (215, 215, 215)
COLOURS = ((31, 97, 181), (214, 96, 30), (38, 140, 77), (150, 60, 160), (180, 150, 20), (90, 90, 90), (200, 40, 80))

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Lines:
    """A line a name, both axes logarithmic where all numbers are above zero."""

    title: str
    across: str  # what x is
    up: str  # what y is
    series: Mapping[str, Points]

    def save(self, path: Path) -> None:
        """Draw and write the picture."""
        drawn = {name: sorted(points) for name, points in self.series.items() if points}
        if not drawn:
            return Bars(self.title, self.up, {}).save(path)
        image, pen = _blank(self.title)
        xs, ys = (_Axis.over([point[place] for points in drawn.values() for point in points]) for place in (0, 1))
        _grid(pen, xs, ys)
        for number, (name, points) in enumerate(drawn.items()):
            colour = COLOURS[number % len(COLOURS)]
            at = [(_across(xs.place(x)), _up(ys.place(y))) for x, y in points]
            pen.line(at, fill=colour, width=3)
            for x, y in at:
                pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=colour)
            pen.text((LEFT + 12, TOP + 6 + 20 * number), name, colour, _font(15))
        pen.text((WIDTH / 2, HEIGHT - 18), self.across, INK, _font(15), anchor="mm")
        pen.text((10, TOP - 22), self.up, INK, _font(15))
        return image.save(path)


@dataclass(frozen=True)
class Bars:
    """A bar a name, from zero."""

    title: str
    unit: str
    values: Mapping[str, float]

    def save(self, path: Path) -> None:
        """Draw and write the picture."""
        image, pen = _blank(self.title)
        font, left = _font(15), 330
        highest = max(self.values.values(), default=1.0) or 1.0
        step = min(44.0, (HEIGHT - TOP - BOTTOM) / max(1, len(self.values)))
        for number, (name, value) in enumerate(self.values.items()):
            y = TOP + step * number
            end = left + (WIDTH - left - 110) * value / highest
            pen.rectangle((left, y + 3, max(end, left + 1), y + step - 4), fill=COLOURS[number % len(COLOURS)])
            pen.text((left - 8, y + step / 2), name, INK, font, anchor="rm")
            pen.text((max(end, left) + 6, y + step / 2), f"{value:.4g}", INK, font, anchor="lm")
        pen.text((WIDTH / 2, HEIGHT - 24), self.unit, INK, font, anchor="mm")
        image.save(path)


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    is_logarithmic: bool

    @classmethod
    def over(cls, values: Sequence[float]) -> "_Axis":
        low, high = min(values), max(values)
        if low <= 0:
            return cls(min(0.0, low), high if high > low else low + 1, False)
        return cls(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high * 1.0001)), True)

    def place(self, value: float) -> float:
        """Where a value is, in [0, 1]."""
        if not self.is_logarithmic:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def ticks(self) -> list[float]:
        """Round numbers along it."""
        if not self.is_logarithmic:
            return [self.low + (self.high - self.low) * part / 5 for part in range(6)]
        decades = range(round(math.log10(self.low)), round(math.log10(self.high)) + 1)
        within = [10.0**decade * factor for decade in decades for factor in ((1, 2, 5) if len(decades) < 4 else (1,))]
        return [tick for tick in within if tick <= self.high * 1.0001]


def _grid(pen: ImageDraw.ImageDraw, xs: _Axis, ys: _Axis) -> None:
    for tick in xs.ticks():
        x = _across(xs.place(tick))
        pen.line((x, TOP, x, HEIGHT - BOTTOM), fill=FAINT)
        pen.text((x, HEIGHT - BOTTOM + 12), f"{tick:,.6g}", INK, _font(13), anchor="mm")
    for tick in ys.ticks():
        y = _up(ys.place(tick))
        pen.line((LEFT, y, WIDTH - RIGHT, y), fill=FAINT)
        pen.text((LEFT - 8, y), f"{tick:,.4g}", INK, _font(13), anchor="rm")


def _blank(title: str) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    pen = ImageDraw.Draw(image)
    pen.text((WIDTH / 2, 20), title, INK, _font(18), anchor="mm")
    return image, pen


def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _across(place: float) -> float:
    return LEFT + place * (WIDTH - LEFT - RIGHT)


def _up(place: float) -> float:
    return HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM)
