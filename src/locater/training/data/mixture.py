"""Several sources of clips as one, each with its share of every batch."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from locater.records import Batch
from locater.training.data.batches import NUMBERS_PER_SEED, TrainingData, joined

PERIOD = 1000  # clips after which the order of the sources begins again: shares are kept to a thousandth


@dataclass(frozen=True)
class Part:
    """One source of a mixture."""

    name: str
    data: TrainingData
    weight: float
    is_drawn: bool  # a world, which knows motion targets


class MixedData:
    """Clips of all parts, as often as their weights say.

    Which part the n-th clip comes from follows from n alone: the one that is furthest behind its share. So every batch
    has nearly the same shares, a run which was killed goes on to the same clips, and each part counts its own clips
    without a gap, so that every sentence of a dataset comes once before any comes again.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)
        self._order = _order([part.weight for part in parts])
        self._before = _counts_before(self._order, len(parts))

    @property
    def kinds(self) -> Sequence[str]:
        """Every part's kinds, each with the part's name before it."""
        return [f"{part.name} {kind}" for part in self.parts for kind in part.data.kinds]

    @property
    def clip_count(self) -> int | None:
        """All parts' clips together; None where one has no end."""
        counts = [part.data.clip_count for part in self.parts]
        return None if None in counts else sum(count for count in counts if count is not None)

    def words(self) -> Sequence[str]:
        """The words of all parts."""
        return [word for part in self.parts for word in part.data.words()]

    def pictures(self) -> Mapping[str, int]:
        """Those of all parts."""
        counts: Counter[str] = Counter()
        for part in self.parts:
            counts.update(part.data.pictures())
        return counts

    def each_part(self, made: Callable[[TrainingData], TrainingData]) -> "MixedData":
        """The same mixture of what is made of each part's data."""
        return MixedData([replace(part, data=made(part.data)) for part in self.parts])

    def seen(self, clips: int) -> Mapping[str, int]:
        """How many of the first so many clips each part gave."""
        return {part.name: self._count_before(place, clips) for place, part in enumerate(self.parts)}

    def plan(self, numbers: Sequence[int], progress: float) -> list[tuple[int, Any]]:
        """Each part's plan of its clips, where it has any among these."""
        own: dict[int, list[int]] = {}
        for number in numbers:
            seed, clip = divmod(number, NUMBERS_PER_SEED)
            place = self._order[clip % PERIOD]
            own.setdefault(place, []).append(seed * NUMBERS_PER_SEED + self._count_before(place, clip))
        return [(place, self.parts[place].data.plan(own[place], progress)) for place in sorted(own)]

    def draw(self, plan: list[tuple[int, Any]], device: torch.device) -> Batch:
        """The parts' clips in one batch; it has motion targets where every part is a world."""
        batch = joined([self.parts[place].data.draw(each, device) for place, each in plan])
        # A batch that happens to be a world's alone is no other: a captured step needs the first one's tensors.
        return batch if all(part.is_drawn for part in self.parts) else replace(batch, motion_targets=None)

    def validation(self, kind: str, numbers: Sequence[int]) -> list[tuple[int, Any]]:
        """The plan of one part's validation videos of a kind."""
        for place, part in enumerate(self.parts):
            for each in part.data.kinds:
                if kind == f"{part.name} {each}":
                    return [(place, part.data.validation(each, numbers))]
        raise ValueError(f"no part has sentences of kind '{kind}'")

    def _count_before(self, place: int, clip: int) -> int:
        """How many clips before this one are the part's."""
        periods, rest = divmod(clip, PERIOD)
        return periods * self._before[place][PERIOD] + self._before[place][rest]


def _order(weights: Sequence[float]) -> list[int]:
    """Which part each clip of a period comes from: the one that is furthest behind."""
    total = math.fsum(weights)
    given = [0] * len(weights)
    order = []
    for clip in range(1, PERIOD + 1):
        behind = [weight / total * clip - count for weight, count in zip(weights, given, strict=True)]
        place = behind.index(max(behind))
        given[place] += 1
        order.append(place)
    return order


def _counts_before(order: Sequence[int], parts: int) -> list[list[int]]:
    """For each part, how many of a period's first n clips it gives, for n from 0 to all."""
    counts = [[0] for _ in range(parts)]
    for place in order:
        for part, known in enumerate(counts):
            known.append(known[-1] + (part == place))
    return counts
