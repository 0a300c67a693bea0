"""Finds places for actors: in the frame all the time, and free of each other in the middle of the video."""

import math
from random import Random

from locater.worlds.motion import Actor


class CrowdedError(Exception):
    """No room was found; draw again."""


def _bounds(actor: Actor) -> tuple[float, float, float, float]:
    """Where its middle place may be: x from, to, y from, to."""
    if actor.bounces:
        return 0.12, 0.88, 0.12, 0.88
    edge = actor.radius * actor.reach * math.exp(abs(actor.growth) / 2) + 0.015
    along, down = abs(actor.velocity[0]) / 2, abs(actor.velocity[1]) / 2
    left, right, up, low = actor.room
    return edge + along + left, 1 - edge - along - right, edge + down + up, 1 - edge - down - low


def place_twins_first(rng: Random, twins: list[Actor], others: list[Actor]) -> None:
    """Place all, the twins in random order, so that the referent has no first choice."""
    twins = rng.sample(twins, len(twins))
    place(rng, twins + others, [])


def fits(actor: Actor) -> bool:
    """Whether its middle place lets it stay in the frame all the time."""
    x_low, x_high, y_low, y_high = _bounds(actor)
    return x_low <= actor.x <= x_high and y_low <= actor.y <= y_high


def is_free(actor: Actor, placed: list[Actor]) -> bool:
    """Whether it touches none of those placed already, in the middle of the video."""
    return all(
        math.hypot(actor.x - other.x, actor.y - other.y) >= 1.1 * (actor.radius + other.radius) + 0.01
        for other in placed
    )


def place(rng: Random, actors: list[Actor], placed: list[Actor]) -> None:
    """Give each actor a place that is free in the middle of the video; raises CrowdedError where there is none."""
    taken = list(placed)
    for actor in actors:
        x_low, x_high, y_low, y_high = _bounds(actor)
        for _ in range(25):
            actor.x, actor.y = rng.uniform(x_low, x_high), rng.uniform(y_low, y_high)
            if x_low <= x_high and y_low <= y_high and is_free(actor, taken):
                break
        else:
            raise CrowdedError
        taken.append(actor)
