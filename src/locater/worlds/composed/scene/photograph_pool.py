"""The photographs of a split: any of them, or one that shows a thing of a drawn class."""

from collections.abc import Mapping, Sequence
from random import Random

from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.classes import ByClass


class PhotographPool:
    """Photographs by number, all of them and by what they show."""

    def __init__(self, pack: Pack, numbers: Sequence[int]) -> None:
        self._numbers = numbers
        self._by_class = ByClass((number, thing) for number in numbers for thing in pack.photographs[number].things)

    def any_one(self, rng: Random) -> int:
        """A photograph's number."""
        return rng.choice(self._numbers)

    def one_with_a_thing(self, rng: Random) -> tuple[int, str] | None:
        """A photograph's number, and the noun of a thing that it shows; None where none shows anything known."""
        return self._by_class.one(rng) if self._by_class else None

    def shares(self) -> Mapping[str, float]:
        """How often each noun is said of a thing that is drawn."""
        return self._by_class.shares()
