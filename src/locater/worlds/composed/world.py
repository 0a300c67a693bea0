"""The composed world as a dataset: balanced over kinds, every video made from the pack and its seed alone."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from locater.records import Mask, Sample, SampleInfo
from locater.worlds.clips import FRAME_COUNT, FRAMES_PER_SECOND
from locater.worlds.composed.draw.render import SceneBatch, render, slot_of
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.drawn import DrawnVideo, DrawnWorld
from locater.worlds.seeds import KINDS, seed_of_key


class ComposedVideo(DrawnVideo):
    """A composed scene's frames, drawn as they are asked for."""

    def __init__(self, scene: Scene, textures: Textures, size: int) -> None:
        self.scene = scene
        self._textures = textures
        self._batch = SceneBatch.of([scene])
        super().__init__(f"composed-{scene.seed}", size, scene.frame_count, scene.frames_per_second, self._pictures)

    def masks_of(self, actor: int | None) -> Mapping[int, Mask]:
        """The visible masks of one of the scene's actors in every frame; None: empty."""
        return self.masks(None if actor is None else slot_of(self.scene, actor))

    def _pictures(self, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
        frames, masks = render(self._batch, self._textures, torch.tensor([list(indices)]), self.size)
        return frames[0], masks[0]


class ComposedWorld(DrawnWorld):
    """`count` videos of one split of a pack, one question each, the kinds in turn; a `records.Dataset`."""

    label = "composed"

    def __init__(
        self,
        pack: Pack | str | Path,
        split: str = "test",
        count: int = 900,
        size: int = 128,
        kinds: Sequence[str] = KINDS,
        device: str | torch.device = "cpu",
    ) -> None:
        super().__init__(split, count, size, kinds, FRAME_COUNT, FRAMES_PER_SECOND)
        self.pack = pack if isinstance(pack, Pack) else Pack(pack)
        self.sampler = SceneSampler(self.pack)
        self._device = device

    @cached_property
    def _textures(self) -> Textures:
        return Textures(self.pack, self._device)

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, drawn lazily; every frame is annotated."""
        video = self.video(seed_of_key(info.key))
        return Sample(info, video, video.masks_of(video.scene.referent))

    def scene(self, seed: int) -> Scene:
        """The scene of any seed (`seeds.video_seed`), at this world's length."""
        return self.sampler.scene(seed, self.frame_count, self.frames_per_second)

    def video(self, seed: int) -> ComposedVideo:
        """The frames of any seed."""
        return ComposedVideo(self.scene(seed), self._textures, self.size)

    def _asked(self, seed: int) -> tuple[str, int]:
        scene = self.scene(seed)
        return scene.expression, len(scene.actor_of_member)
