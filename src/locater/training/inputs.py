"""What a step is fed with: clips as they are drawn, or the features of clips that were drawn before (cached).

Both make a micro-batch a function of its number alone, so that a run which was killed goes on to the same weights.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from locater.compute.rows import expand_to_expressions
from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.model.locater import ClipPrediction, Locater
from locater.records import Batch, Tokens, Words
from locater.training.data.batches import TrainingData, mirrored, share_of_batch, training_plans
from locater.training.data.features import FeatureBatch, FeatureCache, features_of

FIXED_PARTS = ("visual", "text", "recognition", "fusion")  # everything up to V
CLIPS_AT_ONCE = 64  # while a cache is filled


@dataclass(frozen=True)
class Share:
    """Which of a run's batches one process makes, and where."""

    seed: int
    rank: int
    processes: int
    workers: int
    device: torch.device

    def number(self, micro: int) -> int:
        """A micro-batch's number among those of all processes and seeds."""
        return self.seed * 10**8 + micro * self.processes + self.rank


class StepInputs(Protocol):
    """Where a step's records come from; its network takes them, and the first of them is what the loss compares."""

    @property
    def network(self) -> nn.Module:
        """The network as a function of the records."""
        ...

    def plans(self, steps: int, first_step: int) -> Iterator[Any]:
        """This process's plans from `first_step` on, one per micro-batch."""
        ...

    def prepared(self, plan: Any, micro: int) -> tuple[Any, ...]:
        """The records of a plan, the `micro`-th of this process, on the device."""
        ...


class FromClips(nn.Module):
    """The whole network, as a stage asks it."""

    def __init__(self, model: Locater, config: TrainingConfig) -> None:
        super().__init__()
        self.model = model
        self.is_fine = config.is_fine
        self.is_refined = config.is_fine and config.is_refined

    def forward(self, batch: Batch, tokens: Tokens) -> ClipPrediction:
        """The masks of a batch of clips."""
        prediction: ClipPrediction = self.model(
            batch.frames, batch.times, batch.global_frames, batch.global_times, tokens, self.is_fine, self.is_refined
        )
        return prediction


class FromFeatures(nn.Module):
    """The network from V on: memory, query and the patch grid's readout."""

    def __init__(self, model: Locater) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: FeatureBatch) -> ClipPrediction:
        """The patch grid's masks of a batch of features; the clip's own frames are what the global memory is given."""
        rows = len(batch.values)
        owners = torch.zeros_like(batch.is_padding, dtype=torch.int32)
        words = Words(batch.words, batch.is_padding, owners, ("",) * rows, ((),) * rows)
        clip = self.model.with_positions(batch.values.float(), expand_to_expressions(batch.times, rows), batch.grid)
        return self.model.unroll(clip, words, clip, is_fine=False)


class ClipInputs:
    """Clips, each drawn when its step comes."""

    def __init__(self, model: Locater, data: TrainingData, config: TrainingConfig, share: Share) -> None:
        self.model, self.data, self.config, self.share = model, data, config, share
        self.network: nn.Module = FromClips(model, config)

    def plans(self, steps: int, first_step: int) -> Iterator[Any]:
        """This process's plans from `first_step` on, one per micro-batch."""
        share = self.share
        return training_plans(
            self.data, self.config, share.seed, steps, first_step, share.rank, share.processes, share.workers
        )

    def prepared(self, plan: Any, micro: int) -> tuple[Batch, Tokens]:
        """The clips, some of them mirrored, and their tokens."""
        batch = self.data.draw(plan, self.share.device)
        share = self.share
        batch = mirrored(batch, share.seed * 10**8 + micro, self.config.flip, share.rank, share.processes)
        return batch, self.model.read(batch.expressions)


class CachedInputs:
    """The features of `training.cached_clips` clips, computed before the first step, any of them in each batch."""

    def __init__(self, model: Locater, data: TrainingData, config: TrainingConfig, share: Share) -> None:
        learning = [part for part in FIXED_PARTS if _learns(model, part)]
        if learning:
            raise LocaterError(
                f"training.cached_clips keeps what {', '.join(learning)} made of each clip, so it may not learn; "
                f"set training.rates to {{{', '.join(f'{part}: 0.0' for part in learning)}}}."
            )
        self.model, self.data, self.config, self.share = model, data, config, share
        self.network: nn.Module = FromFeatures(model)
        self._clips_per_batch = share_of_batch(config, share.processes)
        self._cache: FeatureCache | None = None

    def plans(self, steps: int, first_step: int) -> Iterator[int]:
        """This process's micro-batches' numbers, from `first_step` on."""
        return iter(range(first_step * self.config.accumulate, steps * self.config.accumulate))

    def prepared(self, plan: int, micro: int) -> tuple[FeatureBatch]:  # noqa: ARG002 (both are the number)
        """Some of the cached clips; the number decides which. The first time, all clips' features are computed."""
        if self._cache is None:  # not before: a finished stage needs none
            self._cache = self._filled()
        draw = torch.Generator().manual_seed(self.share.number(micro))
        places = torch.randint(self._cache.clips, (self._clips_per_batch,), generator=draw)
        return (self._cache.draw(places.to(self.share.device)),)

    def _filled(self) -> FeatureCache:
        """The same features after a restart: clips, mirroring and batches while filling go by number too."""
        share = self.share
        if share.device.type == "cuda":
            torch.cuda.synchronize(share.device)  # batches are made in a stream of their own: the weights must be there
        clips = max(1, self.config.cached_clips // share.processes)
        at_once = min(CLIPS_AT_ONCE, clips)
        batches = math.ceil(clips / at_once)
        settings = {"batch_size": at_once * share.processes, "accumulate": 1}
        drawn = ClipInputs(self.model, self.data, self.config.model_copy(update=settings), share)
        features = (
            features_of(self.model, drawn.prepared(plan, number)[0], self.config.precision)
            for number, plan in enumerate(drawn.plans(batches, 0))
        )
        return FeatureCache(clips, features)


def step_inputs(model: Locater, data: TrainingData, config: TrainingConfig, share: Share) -> StepInputs:
    """Where the records of a stage's steps come from."""
    make = CachedInputs if config.cached_clips else ClipInputs
    return make(model, data, config, share)


def _learns(model: Locater, part: str) -> bool:
    parameters: list[Tensor] = [p for name, p in model.named_parameters() if name.startswith(f"{part}.")]
    return any(parameter.requires_grad and parameter.numel() for parameter in parameters)
