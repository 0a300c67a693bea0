"""Things by class and, in it, by noun, drawn so that common classes do not crowd out the rest, and people often."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import accumulate
from random import Random

from locater.worlds.composed.pack.kinds import BROADEST
from locater.worlds.composed.pack.nouns import is_person
from locater.worlds.composed.pack.pack import CutOutEntry
from locater.worlds.composed.pack.photographs import Shown

PEOPLE_SHARE = 0.25  # of what is drawn, at least: one class among a thousand, and what half of all sentences are about


def group_of(entry: CutOutEntry | Shown) -> str:
    """The class that words divide things into: a beagle is a dog, a dog is no animal among others."""
    return entry.broader[0] if entry.broader and entry.broader[0] not in BROADEST else entry.noun


class ByClass:
    """Numbers by class and, in it, by noun; many of one class or noun are drawn less often than in proportion."""

    def __init__(self, named: Iterable[tuple[int, CutOutEntry | Shown]]) -> None:
        groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, entry in named:
            groups[group_of(entry)][entry.noun].append(number)
        self._groups = [(list(nouns.items()), _heaped(map(len, nouns.values()))) for nouns in groups.values()]
        self._names = list(groups)
        counts = {name: sum(map(len, nouns.values())) for name, nouns in groups.items()}
        people = math.sqrt(sum(count for name, count in counts.items() if is_person(name)))
        others = sum(math.sqrt(count) for name, count in counts.items() if not is_person(name))
        boost = max(PEOPLE_SHARE / (1 - PEOPLE_SHARE) * others / people, 1.0) if people else 1.0
        self._weights = _heaped(count * boost**2 if is_person(name) else count for name, count in counts.items())

    def __len__(self) -> int:
        return len(self._groups)

    def one(self, rng: Random) -> tuple[int, str]:
        """A number and its noun."""
        nouns, weights = rng.choices(self._groups, cum_weights=self._weights)[0]
        noun, numbers = rng.choices(nouns, cum_weights=weights)[0]
        return rng.choice(numbers), noun

    def shares(self) -> Mapping[str, float]:
        """How often each noun is said of what is drawn, if a thing is called by its class as often as by its noun."""
        found: dict[str, float] = defaultdict(float)
        for name, (nouns, within), of_group in zip(self._names, self._groups, _parts(self._weights), strict=True):
            found[name] += of_group / 2
            for (noun, _), of_noun in zip(nouns, _parts(within), strict=True):
                found[noun] += of_group * of_noun / 2
        return found


def _heaped(counts: Iterable[float]) -> list[float]:
    """Sums of the counts' square roots, one after another, as `Random.choices` takes weights."""
    return list(accumulate(map(math.sqrt, counts)))


def _parts(heaped: list[float]) -> list[float]:
    """The share that each has of the last sum."""
    return [(high - low) / heaped[-1] for low, high in zip((0.0, *heaped), heaped, strict=False)]
