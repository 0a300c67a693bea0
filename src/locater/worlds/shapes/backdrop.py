"""What lies behind and over the objects: pattern, light and the camera's shake."""

import colorsys
import math
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from locater.worlds.filming import draw_light, draw_shake
from locater.worlds.scene_objects import Array


@dataclass(frozen=True)
class Backdrop:
    """A background pattern mixed of waves, and how light and camera change over the frames."""

    colours: npt.NDArray[np.float32]  # (2, 3)
    waves: npt.NDArray[np.float32]  # (3, 3): frequency along x and y, phase; in radians
    weights: npt.NDArray[np.float32]  # (4,): of the three waves, and of the first two multiplied
    sharpness: float
    light: npt.NDArray[np.float32]  # (F, 3): gain of red, green, blue
    light_slope: tuple[float, float]  # brighter to one side
    grain: int  # where in the table of noise the video's grain starts
    camera: Array  # (F, 2)


def draw_backdrop(rng: Random, frame_count: int) -> Backdrop:
    """A background of muted colours, so that the objects' own stand out."""
    uniform = rng.uniform
    hue, value = rng.random(), uniform(0.3, 0.75)
    colours = [
        colorsys.hsv_to_rgb(hue, uniform(0.05, 0.35), value),
        colorsys.hsv_to_rgb(
            (hue + uniform(-0.15, 0.15)) % 1.0, uniform(0.05, 0.35), min(max(value + uniform(-0.22, 0.22), 0.2), 0.85)
        ),
    ]
    turn = uniform(0, 2 * math.pi)
    turns: tuple[float, float, float]
    weights: tuple[float, float, float, float]
    pattern = rng.choice(("gradient", "clouds", "clouds", "stripes", "checks", "weave"))
    match pattern:
        case "gradient":
            frequencies, turns, weights, sharpness = (uniform(1, 3), 1.0, 2.0), (0, 1, 2), (1.0, 0.0, 0.0, 0.0), 1.0
        case "clouds":
            frequencies = (uniform(4, 9), uniform(5, 12), uniform(10, 20))
            turns, weights, sharpness = (0, 1.1, 2.3), (0.6, 0.5, 0.3, 0.5), uniform(0.8, 2.5)
        case "stripes":
            frequencies, turns = (uniform(18, 40), uniform(3, 6), 1.0), (0, 1, 2)
            weights, sharpness = (1.0, 0.4, 0.0, 0.0), uniform(1, 5)
        case "checks":
            frequency = uniform(14, 30)
            frequencies, turns = (frequency, frequency, 5.0), (0, math.pi / 2, 1)
            weights, sharpness = (0.0, 0.0, 0.2, 1.0), uniform(1, 6)
        case _:
            frequencies, turns = (uniform(20, 35), uniform(20, 35), uniform(3, 8)), (0, 1.4, 2.0)
            weights, sharpness = (0.5, 0.5, 0.6, 0.0), 1.0
    waves = [
        (frequency * math.cos(turn + more), frequency * math.sin(turn + more), uniform(0, 2 * math.pi))
        for frequency, more in zip(frequencies, turns, strict=True)
    ]
    time = np.linspace(0.0, 1.0, frame_count)
    return Backdrop(
        colours=np.array(colours, dtype=np.float32),
        waves=np.array(waves, dtype=np.float32),
        weights=np.array(weights, dtype=np.float32),
        sharpness=sharpness,
        light=draw_light(rng, time),
        light_slope=(uniform(-0.25, 0.25), uniform(-0.25, 0.25)),
        grain=rng.randrange(1 << 20),
        camera=draw_shake(rng, time),
    )
