"""Training on the composed world: `composed:PACK`, a pack that `locater data compose` made."""

from collections.abc import Sequence

import torch

from locater.config import TrainingConfig
from locater.records import Batch
from locater.training.data.batches import check_kinds, reached_weights
from locater.worlds.composed import BatchPlan, Pack, SceneSampler, Textures, draw_batch, plan_batch, whole_video_plan
from locater.worlds.seeds import KINDS


class ComposedData:
    """Batches of the composed world: endless, drawn where they are used."""

    kinds: Sequence[str] = KINDS
    clip_count: int | None = None

    def __init__(self, pack: Pack, size: int, config: TrainingConfig, interval: int) -> None:
        self.pack = pack
        self.size = size
        self.config = config
        self.interval = interval
        self.sampler = SceneSampler(pack, config.kin_share)
        self._textures: dict[torch.device, Textures] = {}
        check_kinds(config, KINDS, "composed")

    def __getstate__(self) -> dict[str, object]:
        """Without the pictures: worker processes only plan."""
        return {**self.__dict__, "_textures": {}}

    def words(self) -> Sequence[str]:
        """Every word the world can say with this pack."""
        return self.sampler.lexicon.vocabulary()

    def plan(self, numbers: Sequence[int], progress: float) -> BatchPlan:
        """Clips of the training split, of the kinds that the curriculum has reached."""
        return plan_batch(
            self.sampler,
            numbers,
            clip_frames=self.config.clip_frames,
            global_frames=self.config.global_frames,
            strides=self.config.clip_strides,
            sentences=self.config.sentences,
            kind_weights=reached_weights(self.config, KINDS, progress),
        )

    def draw(self, plan: BatchPlan, device: torch.device) -> Batch:
        """The clips' pixels; a picture is decoded when it is first drawn, and stays on the device."""
        if device not in self._textures:
            self._textures[device] = Textures(self.pack, device)
        return draw_batch(plan, self._textures[device], self.size)

    def validation(self, kind: str, numbers: Sequence[int]) -> BatchPlan:
        """Whole videos of the validation split, their global frames at the network's interval."""
        return whole_video_plan(self.sampler, kind, numbers, "validation", self.interval)
