"""Colours that were said, measured in what was marked."""

import io
import math
from itertools import islice

import numpy as np
import pytest
from PIL import Image

from locater.inference.demo import demo_clip
from locater.inference.judging import CARRIER_DOUBTED
from locater.inference.seen_colours import LEAST_SHARE, measurable, shares_of, verdict_on
from locater.records import Mask, Pixels
from locater.text.colour_names import COLOUR_WORDS
from locater.text.said_colours import SaidColour
from locater.video.reader import open_source

RED, DARK_RED, BLUE, WHITE, SHADE = (200, 30, 35), (115, 35, 32), (35, 70, 180), (245, 245, 245), (165, 165, 165)


def picture(*halves: tuple[int, int, int]) -> tuple[Pixels, Mask]:
    """A frame of green with a thing in one or two colours in its middle, and where that is."""
    pixels = np.full((60, 80, 3), (50, 140, 55), np.uint8)
    mask = np.zeros((60, 80), np.bool_)
    mask[10:50, 20:60] = True
    pixels[10:50, 20:60] = halves[0]
    pixels[10:50, 40:60] = halves[-1]
    return pixels, mask


@pytest.mark.parametrize(
    ("colours", "said", "is_doubted"),
    [
        ((RED,), ("red",), False),
        ((DARK_RED,), ("red",), False),
        ((BLUE,), ("red",), True),
        ((RED,), ("green",), True),  # the ground is green, not the thing
        ((RED, WHITE), ("red", "white"), False),
        ((RED, BLUE), ("red", "white"), True),
        ((SHADE,), ("white",), False),  # what is white is gray in shade
        ((BLUE,), (), False),
    ],
)
def test_a_colour_is_doubted_where_there_is_hardly_any(
    colours: tuple[tuple[int, int, int], ...], said: tuple[str, ...], is_doubted: bool
) -> None:
    verdict = verdict_on([SaidColour(word, False) for word in said], shares_of(*picture(*colours)), CARRIER_DOUBTED)
    assert (verdict < CARRIER_DOUBTED) is is_doubted and verdict <= 0


def test_the_verdict_is_that_of_doubt_at_the_least_share_and_of_clothes_at_half_of_it() -> None:
    shares = shares_of(*picture(RED))
    shares[COLOUR_WORDS.index("cyan")] = LEAST_SHARE
    said = [SaidColour("red", False), SaidColour("cyan", False)]
    assert verdict_on(said, shares, CARRIER_DOUBTED) == pytest.approx(CARRIER_DOUBTED, abs=1e-4)
    shares[COLOUR_WORDS.index("cyan")] = LEAST_SHARE / 2
    for is_worn, expected in ((False, CARRIER_DOUBTED - math.log(2)), (True, CARRIER_DOUBTED)):
        assert verdict_on([SaidColour("cyan", is_worn)], shares, CARRIER_DOUBTED) == pytest.approx(expected, abs=1e-4)


SAID = tuple(SaidColour(word, False) for word in ("red", "white", "brown", "gray", "black"))


def photograph(seed: int) -> Pixels:
    """Shades of gray from left to right under a film's grain."""
    grain = np.random.default_rng(seed).normal(0, 12, (120, 160))
    gray = (np.linspace(10, 245, 160) + grain).clip(0, 255).astype(np.uint8)
    return np.stack([gray] * 3, axis=-1)


def test_in_black_and_white_only_black_white_and_gray_are_measured() -> None:
    gray = photograph(0)
    tinted = (gray * np.array([1.0, 0.98, 0.965])).astype(np.uint8)  # as scanners do
    stored = io.BytesIO()
    Image.fromarray(tinted).save(stored, "JPEG", quality=40)
    stamped = gray.copy()
    stamped[-8:, -20:] = (240, 200, 40)  # less than a hundredth: a wildlife camera's date
    for pixels in (gray, tinted, np.asarray(Image.open(stored)), stamped, np.zeros_like(gray)):
        assert [colour.word for colour in measurable(SAID, pixels)] == ["white", "gray", "black"]


def test_where_anything_has_a_colour_all_are_measured() -> None:
    on_gray = photograph(0)
    on_gray[40:60, 40:60] = DARK_RED  # two hundredths
    dusk = (picture(DARK_RED)[0] * 0.4).astype(np.uint8)
    for pixels in (on_gray, picture(BLUE)[0], dusk, *_clip()):
        assert measurable(SAID, pixels) == SAID


def _clip() -> list[Pixels]:
    return [frame.pixels for frame in islice(open_source(demo_clip().path).frames(), 4)]
