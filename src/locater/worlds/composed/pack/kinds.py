"""What things are kinds of, from `kinds.txt`: a beagle is a dog, a dog is an animal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

BROADEST = frozenset(("animal", "fruit", "insect", "musical instrument", "vegetable", "vehicle"))
_SYNSET = re.compile(r"n(\d{8})(?=_|$)")


@dataclass(frozen=True)
class Kinds:
    """The table, read."""

    kind_of: Mapping[str, str]  # by noun
    runs: Sequence[tuple[int, int, str]]  # WordNet numbers: from, to, kind
    said: Mapping[int, str]  # by WordNet number: a better noun than the file's; "" is nothing to cut out

    def chain(self, noun: str) -> tuple[str, ...]:
        """The nouns that are true of everything called `noun`, nearest first."""
        found: list[str] = []
        while noun in self.kind_of:
            noun = self.kind_of[noun]
            found.append(noun)
        return tuple(found)

    def of_number(self, number: int) -> str:
        """The kind that a WordNet number tells; "" when none is known."""
        return next((kind for low, high, kind in self.runs if low <= number <= high), "")


@cache
def kinds() -> Kinds:
    """The table that comes with the package."""
    kind_of: dict[str, str] = {}
    runs: list[tuple[int, int, str]] = []
    said: dict[int, str] = {}
    text = (resources.files(__package__) / "kinds.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("-"):
            said |= {_number(each): "" for each in line.split()[1:]}
        elif match := re.fullmatch(r"(n\d{8})-(n\d{8}): (.+)", line):
            runs.append((_number(match[1]), _number(match[2]), match[3]))
        elif match := re.fullmatch(r"(n\d{8}) = (.+)", line):
            said[_number(match[1])] = match[2]
        elif line and not line.startswith("#"):
            kind, _, nouns = line.partition(": ")
            kind_of |= dict.fromkeys(nouns.split(", "), kind)
    return Kinds(kind_of, tuple(runs), said)


def wordnet_number(name: str) -> int | None:
    """The number that a picture's or folder's name begins with, as ImageNet's do (`n02084071_dog`)."""
    match = _SYNSET.match(name)
    return int(match[1]) if match else None


def _number(text: str) -> int:
    return int(text[1:])
