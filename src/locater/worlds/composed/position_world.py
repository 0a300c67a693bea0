"""The scenes on left and right as a dataset: two questions per scene."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from locater.records import Mask, Sample, SampleInfo
from locater.worlds.composed.draw.render import SceneBatch, render, slot_of
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.positions import SIDES, PositionSampler, PositionScene
from locater.worlds.drawn import DrawnVideo


class PositionWorld:
    """`count` scenes of one split of a pack, each asked for both sides; a `records.Dataset`."""

    def __init__(
        self,
        pack: Pack | str | Path,
        split: str = "heldout",
        count: int = 200,
        size: int = 128,
        device: str | torch.device = "cpu",
    ) -> None:
        self.pack = pack if isinstance(pack, Pack) else Pack(pack)
        self.split = split
        self.count = count
        self.size = size
        self._sampler = PositionSampler(self.pack, split)
        self._device = device
        self._latest: tuple[str, PositionVideo] | None = None  # its two questions are asked one after the other

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"positions-{self.split}"

    def samples(self) -> Sequence[SampleInfo]:
        """Every question; key `heldout/000123/left` asks for the one on the left of the 123rd scene."""
        return [
            SampleInfo(
                key=f"{self.split}/{number:06d}/{side}",
                video=video,
                expression=found.expressions[side],
                kind=side,
                object_count=len(found.scene.actor_of_member),
                object_id=side,
            )
            for number, (video, found) in enumerate(self._scenes.items())
            for side in SIDES
        ]

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, drawn lazily; every frame is annotated."""
        video = self._video(info.video)
        return Sample(info, video, video.of_side(info.kind))

    def other(self, info: SampleInfo) -> Mapping[int, Mask]:
        """The masks of the one that is not meant."""
        (side,) = set(SIDES) - {info.kind}
        return self._video(info.video).of_side(side)

    def scene(self, info: SampleInfo) -> PositionScene:
        """The scene that a question is about."""
        return self._scenes[info.video]

    @cached_property
    def _scenes(self) -> Mapping[str, PositionScene]:
        return {f"{self.name}-{number:06d}": self._sampler.scene(number) for number in range(self.count)}

    @cached_property
    def _textures(self) -> Textures:
        return Textures(self.pack, self._device)

    def _video(self, name: str) -> "PositionVideo":
        if self._latest is None or self._latest[0] != name:
            self._latest = name, PositionVideo(name, self._scenes[name], self._textures, self.size)
        return self._latest[1]


class PositionVideo(DrawnVideo):
    """A scene's frames and masks, short enough to be drawn once and kept."""

    def __init__(self, name: str, found: PositionScene, textures: Textures, size: int) -> None:
        scene = found.scene
        super().__init__(name, size, scene.frame_count, scene.frames_per_second, self._pictures)
        self._found = found
        self._textures = textures

    def of_side(self, side: str) -> Mapping[int, Mask]:
        """The visible masks of the one on this side."""
        return self.masks(slot_of(self._found.scene, self._found.actors[side]))

    @cached_property
    def _drawn(self) -> tuple[Tensor, Tensor]:
        scene = self._found.scene
        indices = torch.arange(scene.frame_count)[None]
        frames, masks = render(SceneBatch.of([scene]), self._textures, indices, self.size)
        return frames[0], masks[0]

    def _pictures(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        frames, masks = self._drawn
        chosen = torch.tensor(list(indices), device=frames.device)
        return frames[chosen], masks[chosen]
