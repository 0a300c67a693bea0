"""Charts drawn as inline SVG and plain boxes: their colours are the page's, so they are right in the dark too."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

WIDTH, HEIGHT = 480, 270
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 10, 40
COLOURS = 7  # --c0 to --c6 in page.css
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Lines:
    """Curves over a common axis; `marks` are upright lines at places on it."""

    title: str
    across: str  # what x is
    series: Mapping[str, Points]
    up: tuple[float, float] | None = None  # from and to; without it what the curves need
    marks: Mapping[str, float] | None = None
    is_dotted: bool = False  # points as well, where they are few or far apart

    def html(self) -> str:
        """A figure with a legend where there are several curves."""
        points = [point for each in self.series.values() for point in each]
        if not points:
            return ""
        xs = _Axis.over([x for x, _ in points], LEFT, WIDTH - RIGHT, most=6).cut([x for x, _ in points])
        wanted = [y for _, y in points] if self.up is None else list(self.up)
        ys = _Axis.over(wanted, HEIGHT - BOTTOM, TOP, most=5)
        drawn = [*_grid(xs, ys), f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">'
                 f"{escape(self.across)}</text>"]  # fmt: skip
        for name, x in (self.marks or {}).items():
            place = f"{xs.at(x):.1f}"
            drawn.append(f'<line class="mark" x1="{place}" x2="{place}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
            anchor = "end" if xs.at(x) > WIDTH / 2 else "start"
            drawn.append(f'<text x="{place}" y="{TOP + 10}" text-anchor="{anchor}" dx="{-4 if anchor == "end" else 4}">'
                         f"{escape(name)}</text>")  # fmt: skip
        for number, (name, curve) in enumerate(self.series.items()):
            drawn += _curve(name, [(xs.at(x), ys.at(y)) for x, y in curve], _colour(number), self.is_dotted)
        said = escape(f"{self.title}: {', '.join(self.series)}")
        svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{"".join(drawn)}</svg>'
        return _figure(self.title, svg + legend(list(self.series)))


@dataclass(frozen=True)
class Bars:
    """Bars from zero to `whole`, one for each name, or one for each name and series."""

    title: str
    series: Mapping[str, Mapping[str, float]]
    whole: float = 100.0
    digits: int = 1

    def html(self) -> str:
        """A figure with a legend where there are several series."""
        names = list(dict.fromkeys(name for values in self.series.values() for name in values))
        cells: list[str] = []
        for name in names:
            for number, values in enumerate(self.series.values()):
                if name not in values:
                    continue
                share = 100 * min(max(values[name] / self.whole, 0.0), 1.0) if self.whole else 0.0
                bar = f'<i style="width:{share:.1f}%;background:{_colour(number)}"></i>'
                cells.append(f"<span>{escape(name) if number == 0 else ''}</span><div>{bar}</div>"
                             f"<b>{values[name]:.{self.digits}f}</b>")  # fmt: skip
        return _figure(self.title, f'<div class="bars">{"".join(cells)}</div>' + legend(list(self.series)))


def legend(names: Sequence[str]) -> str:
    """What each colour stands for; nothing for a single one."""
    if len(names) < 2:
        return ""
    items = (f'<li><i style="background:{_colour(place)}"></i>{escape(name)}</li>' for place, name in enumerate(names))
    return f'<ul class="legend">{"".join(items)}</ul>'


@dataclass(frozen=True)
class _Axis:
    """Round numbers from `low` to `high`, drawn from pixel `first` to pixel `last`."""

    low: float
    high: float
    step: float
    first: float
    last: float

    @classmethod
    def over(cls, values: Sequence[float], first: float, last: float, most: int) -> "_Axis":
        low, high = min(values), max(values)
        if high <= low:
            low, high = low - 0.5, high + 0.5
        rough = (high - low) / most
        magnitude = 10.0 ** math.floor(math.log10(rough))
        step = magnitude * next(each for each in _STEPS if each * magnitude >= rough * 0.999)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, step, first, last)

    def cut(self, values: Sequence[float]) -> "_Axis":
        """The axis that ends where the values do, between round numbers."""
        low, high = min(values), max(values)
        return replace(self, low=low, high=high) if high > low else self

    def at(self, value: float) -> float:
        """The pixel of a value."""
        share = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        return self.first + share * (self.last - self.first)

    def ticks(self) -> list[float]:
        """The round numbers on it."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [place * self.step for place in range(first, last + 1)]


def _grid(xs: _Axis, ys: _Axis) -> list[str]:
    bottom = HEIGHT - BOTTOM
    drawn = []
    for tick in ys.ticks():
        y = f"{ys.at(tick):.1f}"
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        drawn.append(f'<text x="{LEFT - 6}" y="{y}" dy="4" text-anchor="end">{_number(tick)}</text>')
    for tick in xs.ticks():
        drawn.append(f'<text x="{xs.at(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{_number(tick)}</text>')
    return drawn


def _curve(name: str, at: Points, colour: str, is_dotted: bool) -> list[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    drawn = [
        f'<polyline class="curve" style="stroke:{colour}" points="{path}"><title>{escape(name)}</title></polyline>'
    ]
    if is_dotted or len(at) == 1:
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" style="fill:{colour}"/>' for x, y in at]
    return drawn


def _figure(title: str, inside: str) -> str:
    return f"<figure><h3>{escape(title)}</h3>{inside}</figure>"


def _colour(number: int) -> str:
    return f"var(--c{number % COLOURS})"


def _number(value: float) -> str:
    return f"{0.0 if abs(value) < 1e-12 else value:.6g}"
