"""How cut-outs are fitted into a photograph: light, lens, blur, shadow, grain; chosen so that edges are no cue."""

from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.view import View, tone_of
from locater.worlds.filming import draw_light
from locater.worlds.motion import Actor

Floats = npt.NDArray[np.float32]

GAIN, PERSPECTIVE, STRETCH, BLUR = slice(0, 3), slice(3, 5), 5, 6  # columns of `cutouts`
_LIGHT_MATCHING = 0.4  # how far a cut-out's brightness goes to the photograph's
_TINT_MATCHING = 0.15


@dataclass(frozen=True)
class Compositing:
    """What drawing needs beside places."""

    cutouts: Floats  # (C, 7): gains, perspective, stretch, blur; in the order of the cut-outs
    shadow: Floats  # (3,): offset in radii, strength
    wall: Floats  # (2, 3): its two colours
    light: Floats  # (F, 3)
    grain: int  # where in the table of noise the video's grain starts
    grain_strength: float


def draw_compositing(rng: Random, pack: Pack, view: View, actors: tuple[Actor, ...], frame_count: int) -> Compositing:
    """Compositing for the cut-outs among the actors; twins of the same picture get the same."""
    ground = tone_of(pack.photographs[view.photograph]).clip(0.02)  # a black photograph has a tint too
    by_picture: dict[int, list[float]] = {}
    rows = []
    for actor in actors[len(view.things) :]:
        if actor.is_occluder:
            rows.append([1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
            continue
        if actor.picture not in by_picture:
            tone = np.array(pack.cutouts[actor.picture].tone)
            brightness = (ground.mean() / max(tone.mean(), 0.05)) ** _LIGHT_MATCHING
            tint = (ground / ground.mean() / (tone / max(tone.mean(), 0.05)).clip(0.3, 3.0)) ** _TINT_MATCHING
            gain = np.clip(brightness * tint * rng.uniform(0.92, 1.08), 0.72, 1.3)
            lens = [rng.uniform(-0.09, 0.09), rng.uniform(-0.09, 0.09), rng.uniform(0.92, 1.09)]
            by_picture[actor.picture] = [*gain.tolist(), *lens, rng.choice((0.0, 0.0, rng.uniform(0.0, 0.7)))]
        rows.append(by_picture[actor.picture])
    wall = rng.uniform(0.3, 0.65) * np.array([rng.uniform(0.88, 1.12) for _ in range(3)])
    wall = 0.6 * wall + 0.4 * ground
    return Compositing(
        cutouts=np.array(rows, dtype=np.float32).reshape(-1, 7),
        shadow=np.array(
            [rng.uniform(-0.35, 0.35), rng.uniform(0.1, 0.4), rng.choice((0.0, rng.uniform(0.15, 0.5)))],
            dtype=np.float32,
        ),
        wall=np.stack([wall, wall * rng.uniform(0.75, 0.92)]).astype(np.float32),
        light=draw_light(rng, np.linspace(0.0, 1.0, frame_count)),
        grain=rng.randrange(1 << 20),
        grain_strength=rng.choice((0.0, rng.uniform(0.01, 0.05))),
    )
