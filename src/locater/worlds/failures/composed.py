"""The failure types drawn by the composed world: cut-outs of real things, dyed, over photographs."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import torch

from locater.errors import LocaterError
from locater.records import Mask
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.classes import group_of
from locater.worlds.composed.scene.compositing import draw_compositing
from locater.worlds.composed.scene.dyes import DYE_WORDS, DYES, draw_dye, in_dye
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.composed.scene.view import draw_camera, draw_view, thing_actors
from locater.worlds.composed.world import ComposedVideo
from locater.worlds.failures.staging import FRAMES, FRAMES_PER_SECOND, Grid, described, said, stage
from locater.worlds.failures.world import Asked, FailureWorld
from locater.worlds.motion import OUTER_RADIUS, Actor, poses

_OUTER = 0.15  # radius of the circle around a whole cut-out: two of them stand one above the other


class ComposedFailures(FailureWorld[Scene]):
    """Scenes of a pack's cut-outs: of its test split, pictures that no training shows."""

    label = "composed"

    def __init__(
        self,
        pack: Pack | str | Path,
        split: str = "test",
        count: int = 100,
        size: int = 128,
        device: str | torch.device = "cpu",
    ) -> None:
        super().__init__(split, count, size)
        self.pack = pack if isinstance(pack, Pack) else Pack(pack)
        self._sampler = SceneSampler(self.pack)
        self._words = replace(
            self._sampler.lexicon,  # one word for each colour, and nothing that decides nothing
            colours={colour: words[:1] for colour, words in self._sampler.lexicon.colours.items()},
            distractor_phrases={},
            idle_adjectives=(),
        )
        self._textures = Textures(self.pack, device)
        self._cutouts = [number for number, entry in enumerate(self.pack.cutouts) if entry.split == split]
        self._photographs = [number for number, entry in enumerate(self.pack.photographs) if entry.split == split]
        if not self._photographs or len({group_of(self.pack.cutouts[number]) for number in self._cutouts}) < 2:
            raise LocaterError(f"The pack {self.pack.folder} has too little in its split {split}; add photographs.")
        self._latest: tuple[Scene, ComposedVideo] | None = None

    def video(self, scene: Scene) -> ComposedVideo:
        """A scene's frames; the latest is kept, as all its actors are asked for."""
        if self._latest is None or self._latest[0] is not scene:
            self._latest = scene, ComposedVideo(scene, self._textures, self.size)
        return self._latest[1]

    def masks_of(self, scene: Scene, actor: int) -> Mapping[int, Mask]:
        """The visible masks of one of a scene's actors."""
        return self.video(scene).masks_of(actor)

    def _draw(self, rng: Random, seed: int, kind: str) -> Asked[Scene] | None:
        photograph = rng.choice(self._photographs)
        view = draw_view(rng, photograph, self.pack.photographs[photograph])
        things = thing_actors(view)
        staged = stage(kind, rng, self._grid(rng))
        actors = (*things, *staged.actors)
        ground, camera = poses(actors, FRAMES), draw_camera(rng, FRAMES)
        objects = self._sampler.objects_of(actors, ground, camera, view)
        questions = described(kind, objects, staged, range(len(things), len(actors)))
        if questions is None:
            return None
        asked = said(rng, questions, self._words)
        compositing = draw_compositing(rng, self.pack, view, actors, FRAMES)
        ground[..., :2] += camera
        scene = Scene(
            seed=seed,
            split=self.split,
            kind=kind,
            frame_count=FRAMES,
            frames_per_second=FRAMES_PER_SECOND,
            view=view,
            actors=actors,
            poses=ground.astype(np.float32),
            camera=camera,
            compositing=compositing,
            objects=objects,
            description=questions[0].description,
            expression=asked[0][0],
            referent=questions[0].meant[0],
            twins=questions[0].meant[1:],
        )
        return Asked(scene, asked)

    def _grid(self, rng: Random) -> Grid:
        """Two things of different classes in two colours each."""
        one = rng.choice(self._cutouts)
        group = group_of(self.pack.cutouts[one])
        two = rng.choice([number for number in self._cutouts if group_of(self.pack.cutouts[number]) != group])
        first = draw_dye(rng)
        second = draw_dye(rng, DYE_WORDS - {DYES[first].word} - DYES[first].doubtful)
        return [[self._actor(number, dye) for dye in (first, second)] for number in (one, two)]

    def _actor(self, number: int, dye: int) -> Actor:
        entry = self.pack.cutouts[number]
        radius = _OUTER / (OUTER_RADIUS * max(entry.reach, 1.0))
        return in_dye(Actor(entry.colour, entry.noun, "", radius, reach=entry.reach, picture=number), dye)
