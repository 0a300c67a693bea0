"""What training asks of its data, and how batches reach it: each is a function of its number alone.

So resuming needs only the number, and neither the count of processes nor that of workers changes a batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from random import Random
from typing import Any, Protocol

import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.records import Batch
from locater.text.mirror import mirror_sentence
from locater.worlds.motion_targets import MIRROR_ORDER, MIRROR_SIGN

NUMBERS_PER_SEED, NUMBERS_PER_TEN = 10**8, 10**6  # clips of a run; runs of other seeds see other clips


class TrainingData(Protocol):
    """A source of batches, in two halves: what they hold, and their pixels on the device."""

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds of sentence validation reports on."""
        ...

    @property
    def clip_count(self) -> int | None:
        """Clips in an epoch; None where there is no end."""
        ...

    def words(self) -> Sequence[str]:
        """Its sentences, or every word of them, for a vocabulary."""
        ...

    def pictures(self) -> Mapping[str, int]:
        """The names of things that it says, as far as it knows, each with how many pictures of things it is true of."""
        ...

    def seen(self, clips: int) -> Mapping[str, int]:
        """How many of a run's first so many clips came from each of several sources, by name; nothing of one alone."""
        ...

    def plan(self, numbers: Sequence[int], progress: float) -> Any:
        """What the clips of these numbers hold; made in worker processes, on the CPU. `progress` is in [0, 1]."""
        ...

    def draw(self, plan: Any, device: torch.device) -> Batch:
        """The batch of a plan, on the device."""
        ...

    def validation(self, kind: str, numbers: Sequence[int]) -> Any:
        """The plan of some validation videos of one kind, by number; fewer where there are fewer."""
        ...


def reached_weights(config: TrainingConfig, kinds: Sequence[str], progress: float) -> dict[str, float]:
    """How often each kind of sentence is drawn: those that the curriculum has reached, by their weights."""
    return {kind: config.kind_weights.get(kind, 1.0) for kind in kinds if config.curriculum.get(kind, 0.0) <= progress}


def check_kinds(config: TrainingConfig, kinds: Sequence[str], world: str) -> None:
    """Nothing, when the settings name only kinds that the world has."""
    for kind in (*config.kind_weights, *config.curriculum):
        if kind not in kinds:
            raise LocaterError(f"The {world} world has no sentences of kind '{kind}'; it has {', '.join(kinds)}.")


def first_number(seed: int) -> int:
    """Where a run's clips begin among a world's 10**9: far apart for seeds 0 to 9, a million on for every ten more."""
    tens, ones = divmod(seed, 10)
    return ones * NUMBERS_PER_SEED + tens * NUMBERS_PER_TEN % NUMBERS_PER_SEED


def share_of_batch(config: TrainingConfig, processes: int) -> int:
    """Clips of one process's micro-batch."""
    parts = config.accumulate * processes
    if config.batch_size % parts:
        raise LocaterError(
            f"A batch of {config.batch_size} cannot be shared by {processes} processes in {config.accumulate} parts "
            "each."
        )
    return config.batch_size // parts


class _Plans(TorchDataset[Any]):
    """Micro-batch number to plan, for worker processes."""

    def __init__(
        self, data: TrainingData, config: TrainingConfig, seed: int, steps: int, rank: int, world: int
    ) -> None:
        self.data = data
        self.config = config
        self.seed = seed
        self.steps = steps
        self.rank = rank
        self.share = share_of_batch(config, world)
        self.world = world

    def __len__(self) -> int:
        return self.steps * self.config.accumulate

    def __getitem__(self, micro: int) -> Any:
        first = ((micro * self.world) + self.rank) * self.share
        numbers = [first_number(self.seed) + first + index for index in range(self.share)]
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
) -> Iterator[Any]:
    """This process's plans from `first_step` on, one per micro-batch."""
    plans = _Plans(data, config, seed, steps, rank, world)
    numbers = range(first_step * config.accumulate, len(plans))
    loader = DataLoader(
        plans,
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        prefetch_factor=4 if workers else None,
        generator=torch.Generator(),  # else it draws from the one whose state is saved, once more after each restart
    )
    return iter(loader)


def joined(batches: Sequence[Batch]) -> Batch:
    """The batches' clips in one, their motion targets where all of them know any."""
    targets = [batch.motion_targets for batch in batches if batch.motion_targets is not None]
    tensors: dict[str, Any] = {
        field.name: torch.cat([getattr(batch, field.name) for batch in batches])
        for field in fields(Batch)
        if field.name not in ("expressions", "motion_targets")
    }
    return Batch(
        **tensors,
        expressions=tuple(text for batch in batches for text in batch.expressions),
        motion_targets=torch.cat(targets) if len(targets) == len(batches) else None,
    )


def mirrored(batch: Batch, number: int, chance: float, rank: int = 0, processes: int = 1) -> Batch:
    """The batch with some clips flipped, and left and right exchanged in their sentences; which, `number` decides.

    Of several processes that share the batch of this number each flips its own clips, as one alone would.
    """
    rng, clips = Random(number), len(batch.frames)
    is_flipped = [rng.random() < chance for _ in range(clips * processes)][clips * rank : clips * (rank + 1)]
    sentences = len(batch.expressions) // len(is_flipped)
    pick = torch.tensor(is_flipped, device=batch.frames.device)[:, None, None, None, None]
    pick_mask = pick[..., 0].repeat_interleave(sentences, dim=0)
    motion_targets = batch.motion_targets
    if motion_targets is not None:
        motion_targets = torch.where(pick, _mirrored_motion_targets(motion_targets), motion_targets)
    return replace(
        batch,
        motion_targets=motion_targets,
        frames=torch.where(pick, batch.frames.flip(-1), batch.frames),
        global_frames=torch.where(pick, batch.global_frames.flip(-1), batch.global_frames),
        masks=torch.where(pick_mask, batch.masks.flip(-1), batch.masks),
        expressions=tuple(
            mirror_sentence(text) if is_flipped[place // sentences] else text
            for place, text in enumerate(batch.expressions)
        ),
    )


def _mirrored_motion_targets(motion_targets: torch.Tensor) -> torch.Tensor:
    """`Batch.motion_targets` of the mirrored clips; the weight in the last channel only changes its place."""
    order = [*MIRROR_ORDER, len(MIRROR_ORDER)]
    sign = torch.tensor([*MIRROR_SIGN, 1.0], device=motion_targets.device)
    return motion_targets[:, :, order].flip(-1) * sign[:, None, None]
