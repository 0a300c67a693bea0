"""Where training batches come from: each is a function of its number alone, so that resuming needs only the number."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Protocol

import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.records import Batch
from locater.text.mirror import mirror_sentence
from locater.worlds.shapes import KINDS, BatchPlan, draw_batch, plan_batch, vocabulary, whole_video_plan


class TrainingData(Protocol):
    """A source of batches."""

    def words(self) -> Sequence[str]:
        """Every word its sentences use, for a vocabulary."""
        ...

    def plan(self, numbers: Sequence[int], progress: float) -> BatchPlan:
        """What the clips of these numbers hold; made in worker processes, on the CPU. `progress` is in [0, 1]."""
        ...

    def draw(self, plan: BatchPlan, device: torch.device) -> Batch:
        """The pixels of a plan, on the device."""
        ...

    def validation(self, kind: str, numbers: Sequence[int]) -> BatchPlan:
        """Whole validation videos of one kind."""
        ...

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of sentence validation reports on."""
        ...


class ShapesData:
    """Batches of the shapes world: endless, drawn where they are used."""

    kinds: Sequence[str] = KINDS

    def __init__(self, size: int, config: TrainingConfig, interval: int) -> None:
        self.size = size
        self.config = config
        self.interval = interval
        for kind in (*config.kind_weights, *config.curriculum):
            if kind not in KINDS:
                raise LocaterError(f"The shapes world has no sentences of kind '{kind}'; it has {', '.join(KINDS)}.")

    def words(self) -> Sequence[str]:
        """Every word the world can say."""
        return vocabulary()

    def plan(self, numbers: Sequence[int], progress: float) -> BatchPlan:
        """Clips of the training split, of the kinds that the curriculum has reached."""
        weights = {
            kind: self.config.kind_weights.get(kind, 1.0)
            for kind in KINDS
            if self.config.curriculum.get(kind, 0.0) <= progress
        }
        return plan_batch(
            numbers,
            clip_frames=self.config.clip_frames,
            global_frames=self.config.global_frames,
            strides=self.config.clip_strides,
            kind_weights=weights,
        )

    def draw(self, plan: BatchPlan, device: torch.device) -> Batch:
        """The clips' pixels."""
        return draw_batch(plan, self.size, device)

    def validation(self, kind: str, numbers: Sequence[int]) -> BatchPlan:
        """Whole videos of the validation split, their global frames at the network's interval."""
        return whole_video_plan(kind, numbers, "validation", self.interval)


def open_data(spec: str, size: int, config: TrainingConfig, interval: int) -> TrainingData:
    """The training data that a name stands for."""
    if spec == "shapes":
        return ShapesData(size, config, interval)
    raise LocaterError(f"There is no training data '{spec}'; choose shapes.")


class _Plans(TorchDataset[BatchPlan]):
    """Micro-batch number to plan, for worker processes."""

    def __init__(
        self, data: TrainingData, config: TrainingConfig, seed: int, steps: int, rank: int, world: int
    ) -> None:
        self.data = data
        self.config = config
        self.seed = seed
        self.steps = steps
        self.rank = rank
        self.share = config.batch_size // config.accumulate // world
        self.world = world

    def __len__(self) -> int:
        return self.steps * self.config.accumulate

    def __getitem__(self, micro: int) -> BatchPlan:
        first = ((micro * self.world) + self.rank) * self.share
        # Runs of other seeds see other clips; a million steps of 1,000 clips fit between two seeds.
        numbers = [self.seed * 10**8 + first + index for index in range(self.share)]
        return self.data.plan(numbers, micro / max(1, len(self)))


def training_plans(
    data: TrainingData,
    config: TrainingConfig,
    seed: int,
    steps: int,
    first_step: int,
    rank: int,
    world: int,
    workers: int,
) -> Iterator[BatchPlan]:
    """This process's plans from `first_step` on, one a micro-batch."""
    if config.batch_size % (config.accumulate * world):
        raise LocaterError(
            f"A batch of {config.batch_size} cannot be shared by {world} processes in {config.accumulate} parts each."
        )
    plans = _Plans(data, config, seed, steps, rank, world)
    numbers = range(first_step * config.accumulate, len(plans))
    loader = DataLoader(
        plans, batch_size=None, sampler=numbers, num_workers=workers, prefetch_factor=4 if workers else None
    )
    return iter(loader)


def mirrored(batch: Batch, number: int, chance: float) -> Batch:
    """The batch with some clips flipped, and left and right exchanged in their sentences; which, `number` decides."""
    rng = Random(number)
    is_flipped = [rng.random() < chance for _ in batch.expressions]
    pick = torch.tensor(is_flipped, device=batch.frames.device)[:, None, None, None, None]
    return replace(
        batch,
        frames=torch.where(pick, batch.frames.flip(-1), batch.frames),
        global_frames=torch.where(pick, batch.global_frames.flip(-1), batch.global_frames),
        masks=torch.where(pick[..., 0], batch.masks.flip(-1), batch.masks),
        expressions=tuple(
            mirror_sentence(text) if flip else text for text, flip in zip(batch.expressions, is_flipped, strict=True)
        ),
    )
