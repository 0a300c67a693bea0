"""Training batches of the shapes world."""

from collections.abc import Sequence

import torch

from locater.config import TrainingConfig
from locater.records import Batch
from locater.training.data.batches import check_kinds, reached_weights
from locater.worlds.shapes import KINDS, BatchPlan, draw_batch, plan_batch, vocabulary, whole_video_plan


class ShapesData:
    """Batches of the shapes world: endless, drawn where they are used."""

    kinds: Sequence[str] = KINDS
    clip_count = None

    def __init__(self, size: int, config: TrainingConfig, interval: int) -> None:
        self.size = size
        self.config = config
        self.interval = interval
        check_kinds(config, KINDS, "shapes")

    def words(self) -> Sequence[str]:
        """Every word the world can say."""
        return vocabulary()

    def plan(self, numbers: Sequence[int], progress: float) -> BatchPlan:
        """Clips of the training split, of the kinds that the curriculum has reached."""
        return plan_batch(
            numbers,
            clip_frames=self.config.clip_frames,
            global_frames=self.config.global_frames,
            strides=self.config.clip_strides,
            sentences=self.config.sentences,
            kind_weights=reached_weights(self.config, KINDS, progress),
        )

    def draw(self, plan: BatchPlan, device: torch.device) -> Batch:
        """The clips' pixels."""
        return draw_batch(plan, self.size, device)

    def validation(self, kind: str, numbers: Sequence[int]) -> BatchPlan:
        """Whole videos of the validation split, their global frames at the network's interval."""
        return whole_video_plan(kind, numbers, "validation", self.interval)
