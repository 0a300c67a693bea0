"""The photographs of a split: any of them, or one that shows a thing of a drawn class."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from locater.worlds.composed.pack.pack import Pack, PhotographEntry
from locater.worlds.composed.pack.photographs import Shown
from locater.worlds.composed.pack.roles import owners
from locater.worlds.composed.scene.classes import ByClass

PAIR_SHARE = 0.35  # of the things that are asked about are ridden, held or carried by somebody
RIVAL_SHARE = 0.7  # where rivals can decide: of so many there are several of one noun
MOST_OF_A_NOUN = 4


class PhotographPool:
    """Photographs by number, all of them and by what they show."""

    def __init__(self, pack: Pack, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        shown = {number: pack.photographs[number].things for number in numbers}
        self._by_class = ByClass((number, thing) for number, things in shown.items() for thing in things)
        # Somebody with what is ridden, held or carried, by what that is.
        self._pairs = ByClass(
            (number, thing)
            for number, things in shown.items()
            for place, thing in enumerate(things)
            if owners(things, place)
        )
        self._among_rivals = ByClass(
            (number, thing) for number in numbers for thing in _things_among_rivals(pack.photographs[number])
        )

    def any_one(self, rng: Random) -> int:
        """A photograph's number."""
        return rng.choice(self._numbers)

    def one_with_a_thing(self, rng: Random, has_rivals: bool = False) -> tuple[int, str] | None:
        """A photograph's number, and the noun of a thing that it shows; None where none shows anything known.

        `has_rivals`: mostly of one of several of its noun.
        """
        if has_rivals and self._among_rivals and rng.random() < RIVAL_SHARE:
            return self._among_rivals.one(rng)
        if self._pairs and rng.random() < PAIR_SHARE:
            return self._pairs.one(rng)
        return self._by_class.one(rng) if self._by_class else None

    def shares(self) -> Mapping[str, float]:
        """How often each noun is said of a thing that is drawn."""
        pairs = PAIR_SHARE if self._pairs else 0.0
        found = {noun: (1 - pairs) * share for noun, share in self._by_class.shares().items()}
        for noun, share in self._pairs.shares().items() if pairs else ():
            found[noun] = found.get(noun, 0.0) + pairs * share
        return found


def _things_among_rivals(photograph: PhotographEntry) -> list[Shown]:
    """Those of a few of one noun of which no more are in the photograph."""
    counts = Counter(thing.noun for thing in photograph.things)
    return [
        thing
        for thing in photograph.things
        if 1 < counts[thing.noun] <= MOST_OF_A_NOUN and thing.noun not in photograph.vague
    ]
