"""What of a photograph is seen: a square of it, the things inside, and how the camera moves."""

import math
from dataclasses import dataclass
from random import Random

import numpy as np

from locater.worlds.composed.pack.pack import PhotographEntry
from locater.worlds.composed.pack.photographs import Shown
from locater.worlds.filming import draw_shake
from locater.worlds.motion import OUTER_RADIUS, Actor
from locater.worlds.scene_objects import Array

MOST_THINGS = 5  # of a photograph that can be asked about; others are vague
LEAST_RADIUS, MOST_RADIUS = 0.05, 0.48
_MOSTLY = 0.9  # of a thing's box is in view: the rest does not move its middle much
_MARGIN = 0.06  # of the view, kept free for the camera's way
_MOST_SQUASHED = 4 / 3
_MOST_PAN = 0.04  # half the way of a slow pan


@dataclass(frozen=True)
class View:
    """A square of a photograph; lengths are fractions of the photograph's sides."""

    photograph: int
    left: float
    top: float
    width: float
    height: float
    is_mirrored: bool
    things: tuple[Shown, ...]  # in view, mostly whole
    vague: tuple[str, ...]  # nouns of what is there as well


def draw_view(rng: Random, number: int, photograph: PhotographEntry, is_wide: bool = False) -> View:
    """A square out of the photograph, most often nearly as large as fits; `is_wide`: of more of it, squashed."""
    side = (1 - 0.45 * rng.random() ** 2) / (1 + 2 * _MARGIN)
    squash = rng.uniform(1.0, _MOST_SQUASHED) if is_wide else 1.0
    width, height = side * min(squash / photograph.aspect, 1.0), side * min(squash * photograph.aspect, 1.0)
    left = rng.uniform(_MARGIN * width, 1 - (1 + _MARGIN) * width)
    top = rng.uniform(_MARGIN * height, 1 - (1 + _MARGIN) * height)
    inside: list[Shown] = []
    vague = list(photograph.vague)
    for thing in photograph.things:
        seen = _seen_share(thing, left, top, width, height)
        if seen >= _MOSTLY and LEAST_RADIUS <= _radius(thing, width * height) <= MOST_RADIUS:
            inside.append(thing)
        elif seen > 0:
            vague.append(thing.noun)
    inside.sort(key=lambda thing: -thing.share)
    vague += [thing.noun for thing in inside[MOST_THINGS:]]
    return View(
        number, left, top, width, height, rng.random() < 0.5, tuple(inside[:MOST_THINGS]), tuple(dict.fromkeys(vague))
    )


def thing_actors(view: View) -> list[Actor]:
    """The things inside a view as actors that stay where they are."""
    actors = []
    for thing in view.things:
        x, y = (thing.centre[0] - view.left) / view.width, (thing.centre[1] - view.top) / view.height
        radius = _radius(thing, view.width * view.height)
        half = max((thing.box[2] - thing.box[0]) / view.width, (thing.box[3] - thing.box[1]) / view.height) / 2
        reach = max(half / radius / OUTER_RADIUS, 0.9)
        x = 1 - x if view.is_mirrored else x
        actors.append(Actor(thing.colour, thing.noun, "", radius, x=x, y=y, reach=reach))
    return actors


def draw_camera(rng: Random, frame_count: int) -> Array:
    """A hand's shake, sometimes with a slow pan, (F, 2); never farther than a view's margin."""
    time = np.linspace(0.0, 1.0, frame_count)
    shake = draw_shake(rng, time)
    length, angle = rng.choice((0.0, rng.uniform(0.01, _MOST_PAN))), rng.uniform(0, 2 * math.pi)
    way = np.array([math.cos(angle), math.sin(angle)]) * length
    return np.asarray(shake + (2 * time[:, None] - 1) * way)


def tone_of(photograph: PhotographEntry) -> Array:
    """The photograph's mean colour, (3,)."""
    return np.asarray(np.array(photograph.tones, dtype=np.float64).mean(axis=0))


def _radius(thing: Shown, view_area: float) -> float:
    """Of a disc of its area, in sides of the view."""
    return math.sqrt(thing.share / view_area / math.pi)


def _seen_share(thing: Shown, left: float, top: float, width: float, height: float) -> float:
    """The share of a thing's box that is in view."""
    x_low, y_low, x_high, y_high = thing.box
    across = min(x_high, left + width) - max(x_low, left)
    down = min(y_high, top + height) - max(y_low, top)
    return max(across, 0.0) * max(down, 0.0) / ((x_high - x_low) * (y_high - y_low))
