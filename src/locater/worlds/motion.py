"""Where each object is, how large, how turned and how bright, in every frame of a video."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from locater.worlds.scene_objects import Array, Event

JUMP_HEIGHT = 0.17
FALL_DEPTH = 0.30
DART_LENGTH = 0.26
BOUNCE_LOW, BOUNCE_HIGH = 0.12, 0.88  # fast objects turn back here

OCCLUDER = "wall"  # the occluder's noun
OUTER_RADIUS = 1.2  # in nominal radii: nothing of a reach of 1 goes farther

# How far an event leads an object to the left, right, up and down.
ROOM = {
    "jump": (0.0, 0.0, JUMP_HEIGHT, 0.0),
    "fall": (0.0, 0.0, 0.0, FALL_DEPTH),
    "dart_left": (DART_LENGTH, 0.0, 0.0, 0.0),
    "dart_right": (0.0, DART_LENGTH, 0.0, 0.0),
    "shake": (0.05, 0.05, 0.0, 0.0),
}


@dataclass(slots=True)
class Actor:
    """One object of a scene: looks, and what it does; rates are per video, `x` and `y` hold at its middle."""

    colour: str
    shape: str  # what it is: a shape's name, a cut-out's noun
    texture: str
    radius: float
    angle: float = 0.0
    x: float = 0.5
    y: float = 0.5
    velocity: tuple[float, float] = (0.0, 0.0)
    bounces: bool = False
    spin: float = 0.0  # radians
    growth: float = 0.0  # of the radius' logarithm
    events: list[Event] = field(default_factory=list)
    room: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)  # kept free: left, right, up, down
    extent: tuple[float, float] = (0.0, 0.0)  # of the panel: half its width and height
    is_in_front: bool = False  # of the wall
    is_occluder: bool = False  # the wall
    shows_turning: bool = True  # whether its angle can be seen
    reach: float = 1.0  # how far it sticks out: 1 for what is about as wide as high
    picture: int = -1  # the composed world's: its cut-out's number in the pack
    dye: int = -1  # the composed world's: its dye's number, where it has not its own colour
    is_mirrored: bool = False

    @property
    def noun(self) -> str:
        """What sentences call it."""
        return OCCLUDER if self.is_occluder else self.shape


def poses(actors: Sequence[Actor], frame_count: int) -> Array:
    """x, y, radius, angle and flash (-1 dark to 1 white) of every object in every frame, (N, F, 5), without camera."""
    result = np.zeros((len(actors), frame_count, 5))
    time = np.linspace(0.0, 1.0, frame_count)
    given = np.array(
        [(a.x, a.y, a.radius, a.angle, *a.velocity, a.growth, a.spin) for a in actors], dtype=np.float64
    )  # (N, 8)
    from_middle = time - 0.5
    result[:, :, 0] = given[:, 0, None] + given[:, 4, None] * from_middle
    result[:, :, 1] = given[:, 1, None] + given[:, 5, None] * from_middle
    result[:, :, 2] = given[:, 2, None] * np.exp(given[:, 6, None] * from_middle)
    result[:, :, 3] = given[:, 3, None] + given[:, 7, None] * from_middle
    for pose, actor in zip(result, actors, strict=True):
        if actor.bounces:
            span = BOUNCE_HIGH - BOUNCE_LOW
            pose[:, :2] = BOUNCE_LOW + span - np.abs((pose[:, :2] - BOUNCE_LOW) % (2 * span) - span)
        for event in actor.events:
            _perform(event, pose, time)
    return result


def _perform(event: Event, pose: Array, time: Array) -> None:
    """Add an event to one object's (F, 5) poses."""
    progress = np.clip((time - event.start) / (event.end - event.start), 0.0, 1.0)
    smooth = progress * progress * (3 - 2 * progress)
    match event.name:
        case "jump":
            pose[:, 1] -= JUMP_HEIGHT * 4 * progress * (1 - progress)
        case "fall":
            pose[:, 1] += FALL_DEPTH * progress * progress
        case "dart_left":
            pose[:, 0] -= DART_LENGTH * smooth
        case "dart_right":
            pose[:, 0] += DART_LENGTH * smooth
        case "shake":
            pose[:, 0] += 0.05 * np.sin(5 * math.pi * progress) * (progress < 1)
        case "spin":
            pose[:, 3] += 2 * math.pi * smooth
        case "swell":
            pose[:, 2] *= 1 + 0.6 * np.sin(math.pi * progress)
        case "grow":
            pose[:, 2] *= 1 + 0.7 * smooth
        case "shrink":
            pose[:, 2] *= 1 - 0.45 * smooth
        case "flash":
            pose[:, 4] = np.sin(4 * math.pi * progress) * (progress < 1)
        case _:
            raise ValueError(f"no event {event.name}")
