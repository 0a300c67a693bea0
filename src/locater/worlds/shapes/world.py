"""The shapes world as a dataset: balanced over kinds, every video regenerated from its seed alone."""

from collections.abc import Sequence

import torch
from torch import Tensor

from locater.records import Sample, SampleInfo
from locater.worlds.clips import FRAME_COUNT, FRAMES_PER_SECOND
from locater.worlds.drawn import DrawnVideo, DrawnWorld
from locater.worlds.seeds import KINDS, seed_of_key
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


class ShapesWorld(DrawnWorld):
    """`count` videos of one split, one question each, the kinds in turn; a `records.Dataset`."""

    label = "shapes"

    def __init__(
        self,
        split: str = "test",
        count: int = 900,
        size: int = 128,
        kinds: Sequence[str] = KINDS,
        frame_count: int = FRAME_COUNT,
        frames_per_second: float = FRAMES_PER_SECOND,
        device: str | torch.device = "cpu",
    ) -> None:
        super().__init__(split, count, size, kinds, frame_count, frames_per_second)
        self.device = device

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

    def _asked(self, seed: int) -> tuple[str, int]:
        scene = self.scene(seed)
        return scene.expression, len(scene.objects)
