"""How light and camera change over a video."""

from random import Random

import numpy as np
import numpy.typing as npt

from locater.worlds.scene_objects import Array


def draw_light(rng: Random, time: Array) -> npt.NDArray[np.float32]:
    """Gain of red, green and blue at every time, (F, 3)."""
    strength = rng.choice((0.0, rng.uniform(0.05, 0.18)))
    gain = rng.uniform(0.92, 1.05) + strength * np.sin(rng.uniform(2, 9) * time + rng.uniform(0, 6.28))
    tint = np.array([rng.uniform(0.96, 1.04) for _ in range(3)])
    return np.asarray(gain[:, None] * tint, dtype=np.float32)


def draw_shake(rng: Random, time: Array) -> Array:
    """How far a hand-held camera has moved the picture at every time, (F, 2)."""
    strength = rng.choice((0.0, 0.004, 0.009))
    rates = np.array([[rng.uniform(12, 45) for _ in range(2)] for _ in range(2)])  # radians per video
    phases = np.array([[rng.uniform(0, 6.28) for _ in range(2)] for _ in range(2)])
    return np.asarray(0.5 * strength * np.sin(time[:, None, None] * rates + phases).sum(axis=1))
