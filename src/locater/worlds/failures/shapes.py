"""The failure types drawn by the shapes world."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import numpy as np
import torch

from locater.records import Mask
from locater.worlds.describing import make_scene_objects
from locater.worlds.failures.staging import FRAMES, FRAMES_PER_SECOND, Grid, described, said, stage
from locater.worlds.failures.world import Asked, FailureWorld
from locater.worlds.motion import Actor, poses
from locater.worlds.shapes.backdrop import draw_backdrop
from locater.worlds.shapes.looks import COLOURS, HELD_OUT_PAIRS, LEXICON, RADII, SHAPES, TEXTURES
from locater.worlds.shapes.scene import Scene
from locater.worlds.shapes.world import SceneFrames

# One word for each: the two sentences of a scene differ in nothing but whose colour is said.
_WORDS = replace(
    LEXICON,
    nouns={shape: names[:1] for shape, names in LEXICON.nouns.items()},
    colours={colour: (colour,) for colour in COLOURS},
)
_SYMMETRIC = tuple(shape for shape in SHAPES if shape != "crescent")  # alike on its left and right


class ShapesFailures(FailureWorld[Scene]):
    """Scenes of shapes; `heldout` has pairs of colour and shape that no training shows."""

    label = "shapes"

    def __init__(
        self, split: str = "test", count: int = 100, size: int = 128, device: str | torch.device = "cpu"
    ) -> None:
        super().__init__(split, count, size)
        self._device = device

    def video(self, scene: Scene) -> SceneFrames:
        """A scene's frames."""
        return SceneFrames(scene, self.size, self._device)

    def masks_of(self, scene: Scene, actor: int) -> Mapping[int, Mask]:
        """The visible masks of one of a scene's actors."""
        return self.video(scene).masks(actor)

    def _draw(self, rng: Random, seed: int, kind: str) -> Asked[Scene] | None:
        staged = stage(kind, rng, _grid(rng, self.split == "heldout"))
        backdrop = draw_backdrop(rng, FRAMES)
        ground = poses(staged.actors, FRAMES)
        objects = make_scene_objects(staged.actors, ground, backdrop.camera)
        questions = described(kind, objects, staged, range(len(staged.actors)))
        if questions is None:
            return None
        asked = said(rng, questions, _WORDS)
        ground[..., :2] += backdrop.camera
        scene = Scene(
            seed=seed,
            split=self.split,
            kind=kind,
            frame_count=FRAMES,
            frames_per_second=FRAMES_PER_SECOND,
            actors=staged.actors,
            poses=ground.astype(np.float32),
            objects=objects,
            description=questions[0].description,
            expression=asked[0][0],
            referent=questions[0].meant[0],
            twins=questions[0].meant[1:],
            backdrop=backdrop,
        )
        return Asked(scene, asked)


def _grid(rng: Random, is_held_out: bool) -> Grid:
    """Two shapes in two colours each, in pairs that are seen in training, or with some that are not."""
    while True:
        shapes, colours = rng.sample(_SYMMETRIC, 2), rng.sample(COLOURS, 2)
        pairs = {(colour, shape) for shape in shapes for colour in colours}
        if is_held_out == bool(pairs & HELD_OUT_PAIRS):
            break
    radius, texture = rng.uniform(*RADII["medium"]), rng.choice(TEXTURES)
    return [[Actor(colour, shape, texture, radius) for colour in colours] for shape in shapes]
