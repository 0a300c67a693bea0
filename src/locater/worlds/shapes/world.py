"""The shapes world as a dataset: balanced over kinds, every video regenerated from its seed alone."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import torch

from locater.errors import LocaterError
from locater.records import Frame, Mask, Sample, SampleInfo, VideoInfo
from locater.worlds.shapes.looks import LEXICON
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Question, Scene, questions, sample_scene
from locater.worlds.shapes.seeds import KINDS, parts_of_seed, video_seed

_FRAMES_AT_ONCE = 8


def vocabulary() -> list[str]:
    """Every word of every sentence of the shapes world, sorted."""
    return LEXICON.vocabulary()


class SceneFrames:
    """A scene's frames, drawn as they are asked for."""

    def __init__(self, scene: Scene, size: int, device: str | torch.device = "cpu") -> None:
        self.scene = scene
        self.size = size
        self._batch = SceneBatch.of([scene], device)

    @property
    def info(self) -> VideoInfo:
        """What is known before drawing: everything."""
        scene = self.scene
        return VideoInfo(
            name=f"shapes-{scene.seed}",
            width=self.size,
            height=self.size,
            frame_count=scene.frame_count,
            frames_per_second=scene.frames_per_second,
            duration=scene.frame_count / scene.frames_per_second,
        )

    @property
    def is_repeatable(self) -> bool:
        """Always."""
        return True

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..., a few drawn at once."""
        indices = list(range(start, self.scene.frame_count, every))
        for first in range(0, len(indices), _FRAMES_AT_ONCE):
            some = indices[first : first + _FRAMES_AT_ONCE]
            pixels, _ = render(self._batch, torch.tensor([some]), self.size)
            images = (pixels[0].permute(0, 2, 3, 1) * 255).round().to(torch.uint8).cpu().numpy()
            for index, image in zip(some, images, strict=True):
                yield Frame(index, index / self.scene.frames_per_second, image)

    def masks(self, actor: int | None) -> Mapping[int, Mask]:
        """The visible mask of one of the scene's actors in every frame, drawn when first asked for; None: empty."""
        return _Masks(self._batch, self.scene, self.size, actor)


class _Masks(Mapping[int, Mask]):
    def __init__(self, batch: SceneBatch, scene: Scene, size: int, actor: int | None) -> None:
        self._batch = batch
        self._frame_count = scene.frame_count
        self._size = size
        self._actor = actor

    @cached_property
    def _masks(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        if self._actor is None:
            return np.zeros((self._frame_count, self._size, self._size), dtype=np.bool_)
        _, masks = render(self._batch, torch.arange(self._frame_count)[None], self._size)
        return np.ascontiguousarray(masks[0, :, self._actor].cpu().numpy())

    def __getitem__(self, index: int) -> Mask:
        if not 0 <= index < self._frame_count:
            raise KeyError(index)
        mask: Mask = self._masks[index]
        return mask

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._frame_count))

    def __len__(self) -> int:
        return self._frame_count


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


def seed_of_key(key: str) -> int:
    """The seed behind a sample's key."""
    split, _, rest = key.partition("/")
    kind, _, number = rest.partition("/")
    if not number.isdigit():
        raise LocaterError(f"{key!r} is no key of the shapes world; one looks like 'test/motion/000123'.")
    return video_seed(split, kind, int(number))
