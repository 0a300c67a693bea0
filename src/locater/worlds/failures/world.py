"""The failure types as a dataset, drawn by the shapes world: asked by `evaluate` alone, never trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random

import numpy as np
import torch

from locater.errors import LocaterError
from locater.records import Mask, Sample, SampleInfo
from locater.worlds.describing import make_scene_objects
from locater.worlds.failures.staging import FRAMES, FRAMES_PER_SECOND, KINDS, MOST_DRAWS, Grid, described, stage
from locater.worlds.grammar import say
from locater.worlds.motion import Actor, poses
from locater.worlds.seeds import video_seed
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


@dataclass(frozen=True)
class FailureScene:
    """A scene with its sentences, each with the actors it means."""

    scene: Scene  # as asked by the first
    asked: tuple[tuple[str, tuple[int, ...]], ...]


class FailureWorld:
    """`count` scenes of each failure type, each asked once or twice; a `records.Dataset`."""

    def __init__(
        self, split: str = "test", count: int = 100, size: int = 128, device: str | torch.device = "cpu"
    ) -> None:
        self.split = split
        self.count = count
        self.size = size
        self._device = device

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"failures-{self.split}"

    def samples(self) -> Sequence[SampleInfo]:
        """Every question, type by type; key `test/binding/000123/1` is the second one to the 123rd scene of a type."""
        return [
            SampleInfo(
                key=f"{video}/{number}",
                video=video,
                expression=expression,
                kind=video.split("/")[1],
                object_count=len(found.scene.actors),
            )
            for video, found in self._scenes.items()
            for number, (expression, _) in enumerate(found.asked)
        ]

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames, and the masks of all that it fits together; every frame is annotated."""
        source = self._source(info)
        return Sample(info, source, _Together([source.masks(actor) for actor in self._meant(info)]))

    def meant(self, info: SampleInfo) -> list[Mapping[int, Mask]]:
        """The masks of each thing that a question fits."""
        return [self._source(info).masks(actor) for actor in self._meant(info)]

    def others(self, info: SampleInfo) -> list[Mapping[int, Mask]]:
        """The masks of each other thing."""
        count, meant = len(self._scenes[info.video].scene.actors), self._meant(info)
        return [self._source(info).masks(actor) for actor in range(count) if actor not in meant]

    def _meant(self, info: SampleInfo) -> tuple[int, ...]:
        return self._scenes[info.video].asked[int(info.key.rpartition("/")[2])][1]

    def _source(self, info: SampleInfo) -> SceneFrames:
        return SceneFrames(self._scenes[info.video].scene, self.size, self._device)

    @cached_property
    def _scenes(self) -> Mapping[str, FailureScene]:
        return {
            f"{self.split}/{kind}/{number:06d}": failure_scene(self.split, kind, number)
            for kind in KINDS
            for number in range(self.count)
        }


def failure_scene(split: str, kind: str, number: int) -> FailureScene:
    """The scene of a number, the same at every call and for any count of scenes."""
    seed = video_seed(split, "appearance", number)
    rng = Random(f"failures {kind} {seed}")
    for _ in range(MOST_DRAWS):
        staged = stage(kind, rng, _grid(rng, split == "heldout"))
        backdrop = draw_backdrop(rng, FRAMES)
        ground = poses(staged.actors, FRAMES)
        objects = make_scene_objects(staged.actors, ground, backdrop.camera)
        questions = described(kind, objects, staged, range(len(staged.actors)))
        if questions is None:
            continue
        words = rng.getrandbits(32)  # both are asked in the same words
        asked = tuple((say(each.description, Random(words), _WORDS), each.meant) for each in questions)
        ground[..., :2] += backdrop.camera
        scene = Scene(
            seed=seed,
            split=split,
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
        return FailureScene(scene, asked)
    raise LocaterError(f"No scene of the type {kind} was found in {MOST_DRAWS} draws.")


def _grid(rng: Random, is_held_out: bool) -> Grid:
    """Two shapes in two colours each, in pairs that are seen in training, or with some that are not."""
    while True:
        shapes, colours = rng.sample(_SYMMETRIC, 2), rng.sample(COLOURS, 2)
        pairs = {(colour, shape) for shape in shapes for colour in colours}
        if is_held_out == bool(pairs & HELD_OUT_PAIRS):
            break
    radius, texture = rng.uniform(*RADII["medium"]), rng.choice(TEXTURES)
    return [[Actor(colour, shape, texture, radius) for colour in colours] for shape in shapes]


class _Together(Mapping[int, Mask]):
    """Several things' masks as one."""

    def __init__(self, parts: Sequence[Mapping[int, Mask]]) -> None:
        self._parts = parts

    def __getitem__(self, index: int) -> Mask:
        mask: Mask = np.logical_or.reduce([part[index] for part in self._parts])
        return mask

    def __iter__(self) -> Iterator[int]:
        return iter(self._parts[0])

    def __len__(self) -> int:
        return len(self._parts[0])
