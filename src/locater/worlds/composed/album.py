"""The photographs of a split, drawn so that the many of one class do not crowd out the rest."""

import math
from collections import defaultdict
from collections.abc import Sequence
from random import Random

from locater.worlds.composed.pack import Pack
from locater.worlds.composed.wardrobe import group_of


class Album:
    """Photographs by number, all of them and by the classes of the things that they show."""

    def __init__(self, pack: Pack, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        groups: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            for group in {group_of(thing) for thing in pack.photographs[number].things}:
                groups[group].append(number)
        self._groups = list(groups.items())
        self._weights = [math.sqrt(len(found)) for _, found in self._groups]

    def any_one(self, rng: Random) -> int:
        """A photograph's number."""
        return rng.choice(self._numbers)

    def one_of_a_class(self, rng: Random) -> tuple[int, str] | None:
        """A photograph's number, and a class that it shows; None where none shows anything known."""
        if not self._groups:
            return None
        group, numbers = rng.choices(self._groups, self._weights)[0]
        return rng.choice(numbers), group
