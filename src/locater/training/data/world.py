"""Training on a world that is drawn: endless, and each clip from its number alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from locater.config import TrainingConfig
from locater.records import Batch
from locater.training.data.batches import check_kinds, reached_weights
from locater.worlds.batches import BatchPlan, ClipSettings, WorldBatches
from locater.worlds.seeds import KINDS


class WorldData:
    """Training batches of one world, drawn where they are used."""

    kinds: Sequence[str] = KINDS
    clip_count: int | None = None

    def __init__(self, batches: WorldBatches[Any, Any], size: int, config: TrainingConfig, interval: int) -> None:
        self.batches = batches
        self.size = size
        self.config = config
        self.interval = interval
        check_kinds(config, KINDS, batches.world)

    def words(self) -> Sequence[str]:
        """Every word the world can say."""
        return self.batches.lexicon.vocabulary()

    def pictures(self) -> Mapping[str, int]:
        """Of every way to say a noun of which pictures are counted."""
        lexicon = self.batches.lexicon
        counts: Counter[str] = Counter()
        for noun, count in lexicon.pictures.items():
            counts.update(dict.fromkeys(lexicon.nouns[noun], count))
        return counts

    def seen(self, clips: int) -> Mapping[str, int]:  # noqa: ARG002 (all are its own)
        """Nothing: there is one source."""
        return {}

    def plan(self, numbers: Sequence[int], progress: float) -> BatchPlan[Any]:
        """Clips of the training split, of the kinds that the curriculum has reached."""
        settings = ClipSettings(
            clip_frames=self.config.clip_frames,
            global_frames=self.config.global_frames,
            strides=self.config.clip_strides,
            kind_weights=reached_weights(self.config, KINDS, progress),
            sentences=self.config.sentences,
        )
        return self.batches.clips(numbers, settings)

    def draw(self, plan: BatchPlan[Any], device: torch.device) -> Batch:
        """The clips' pixels, on the device."""
        return self.batches.draw(plan, self.size, device)

    def validation(self, kind: str, numbers: Sequence[int]) -> BatchPlan[Any]:
        """Whole videos of the validation split, their global frames at the network's interval."""
        return self.batches.whole_videos(kind, numbers, "validation", self.interval)
