"""The failure types as a dataset, whatever world draws it: asked by `evaluate` alone, never trained on."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import ClassVar, Generic, TypeVar

import numpy as np

from locater.errors import LocaterError
from locater.records import Mask, Sample, SampleInfo
from locater.worlds.describing import DescribedScene
from locater.worlds.drawn import DrawnVideo
from locater.worlds.failures.staging import KINDS, MOST_DRAWS
from locater.worlds.seeds import video_seed

SceneT = TypeVar("SceneT", bound=DescribedScene)


@dataclass(frozen=True)
class Asked(Generic[SceneT]):
    """A scene with its sentences, each with the actors it means."""

    scene: SceneT  # as asked by the first
    questions: tuple[tuple[str, tuple[int, ...]], ...]


class FailureWorld(ABC, Generic[SceneT]):
    """`count` scenes of each failure type, each asked once or twice; a `records.Dataset`."""

    label: ClassVar[str]  # the world's name

    def __init__(self, split: str, count: int, size: int) -> None:
        self.split = split
        self.count = count
        self.size = size

    @abstractmethod
    def _draw(self, rng: Random, seed: int, kind: str) -> Asked[SceneT] | None:
        """A scene of a kind; None where a sentence would not fit exactly what is meant."""

    @abstractmethod
    def video(self, scene: SceneT) -> DrawnVideo:
        """A scene's frames."""

    @abstractmethod
    def masks_of(self, scene: SceneT, actor: int) -> Mapping[int, Mask]:
        """The visible masks of one of a scene's actors."""

    def scene(self, kind: str, number: int) -> Asked[SceneT]:
        """The scene of a number, the same at every call and for any count of scenes."""
        seed = video_seed(self.split, "appearance", number)
        rng = Random(f"failures {kind} {seed}")
        for _ in range(MOST_DRAWS):
            found = self._draw(rng, seed, kind)
            if found is not None:
                return found
        raise LocaterError(f"No scene of the type {kind} was found in {MOST_DRAWS} draws; put more into the pack.")

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"failures-{self.label}-{self.split}"

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
            for number, (expression, _) in enumerate(found.questions)
        ]

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames, and the masks of all that it fits together; every frame is annotated."""
        return Sample(info, self.video(self._scenes[info.video].scene), _Together(self.meant(info)))

    def meant(self, info: SampleInfo) -> list[Mapping[int, Mask]]:
        """The masks of each thing that a question fits."""
        return [self.masks_of(self._scenes[info.video].scene, actor) for actor in self._meant(info)]

    def others(self, info: SampleInfo) -> list[Mapping[int, Mask]]:
        """The masks of each other thing."""
        scene, meant = self._scenes[info.video].scene, self._meant(info)
        return [self.masks_of(scene, actor) for actor in range(len(scene.actors)) if actor not in meant]

    def _meant(self, info: SampleInfo) -> tuple[int, ...]:
        return self._scenes[info.video].questions[int(info.key.rpartition("/")[2])][1]

    @cached_property
    def _scenes(self) -> Mapping[str, Asked[SceneT]]:
        return {
            f"{self.split}/{kind}/{number:06d}": self.scene(kind, number)
            for kind in KINDS
            for number in range(self.count)
        }


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
