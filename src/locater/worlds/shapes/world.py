"""The shapes world as a dataset: balanced over kinds, every video regenerated from its seed alone."""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.records import Sample, SampleInfo
from locater.worlds.drawn import DrawnVideo
from locater.worlds.seeds import KINDS, parts_of_seed, seed_of_key, video_seed
from locater.worlds.shapes.looks import LEXICON
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Question, Scene, questions, sample_scene


def vocabulary() -> list[str]:
    """Every word of every sentence of the shapes world, sorted."""
    return LEXICON.vocabulary()


class SceneFrames(DrawnVideo):
    """A scene's frames, drawn as they are asked for."""

    def __init__(self, scene: Scene, size: int, device: str | torch.device = "cpu") -> None:
        self.scene = scene
        self._batch = SceneBatch.of([scene], device)
        super().__init__(f"shapes-{scene.seed}", size, scene.frame_count, scene.frames_per_second, self._pictures)

    def _pictures(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        frames, masks = render(self._batch, torch.tensor([list(indices)]), self.size)
        return frames[0], masks[0]


class ShapesWorld:
    """`count` videos of one split, one question each, the kinds in turn; a `records.Dataset`."""

    def __init__(
        self,
        split: str = "test",
        count: int = 900,
        size: int = 128,
        kinds: Sequence[str] = KINDS,
        frame_count: int = 32,
        frames_per_second: float = 8.0,
        device: str | torch.device = "cpu",
    ) -> None:
        if not kinds:
            raise LocaterError(f"a world needs at least one kind of sentence; choose from {', '.join(KINDS)}.")
        self.split = split
        self.count = count
        self.size = size
        self.frame_count = frame_count
        self.frames_per_second = frames_per_second
        self.device = device
        self._seeds = [video_seed(split, kinds[index % len(kinds)], index // len(kinds)) for index in range(count)]

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"shapes-{self.split}"

    def samples(self) -> Sequence[SampleInfo]:
        """Every question, the kinds in turn; key `test/motion/000123` is the 123rd motion video of the test split."""
        return self._samples

    @cached_property
    def _samples(self) -> tuple[SampleInfo, ...]:
        return tuple(self._info(self.scene(seed)) for seed in self._seeds)

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, drawn lazily; every frame is annotated."""
        scene = self.scene(seed_of_key(info.key))
        source = SceneFrames(scene, self.size, self.device)
        return Sample(info, source, source.masks(scene.referent))

    def scene(self, seed: int) -> Scene:
        """The scene of any seed (`seeds.video_seed`), at this world's length."""
        return sample_scene(seed, self.frame_count, self.frames_per_second)

    def video(self, seed: int) -> SceneFrames:
        """The frames of any seed; its `masks(actor)` takes the `referent` of a question."""
        return SceneFrames(self.scene(seed), self.size, self.device)

    def expressions_for(self, seed: int) -> list[Question]:
        """Several sentences on one video, its own first, each checked to mean one actor.

        A seed of kind late_event has a late event's sentence among them, being its own.
        """
        return questions(self.scene(seed))

    def _info(self, scene: Scene) -> SampleInfo:
        split, kind, number = parts_of_seed(scene.seed)
        return SampleInfo(
            key=f"{split}/{kind}/{number:06d}",
            video=f"shapes-{scene.seed}",
            expression=scene.expression,
            kind=kind,
            object_count=len(scene.cast),
        )
