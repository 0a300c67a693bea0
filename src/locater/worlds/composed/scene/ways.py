"""The words of questions that mean several things as one (together.py), apart from them for the lexicon to know."""

from collections.abc import Iterable, Mapping

from locater.text.plurals import plural
from locater.worlds.composed.pack.nouns import ROLES
from locater.worlds.composed.pack.roles import CARRIED, RIDDEN

# How what somebody rides, holds or carries is said of him.
WAYS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(RIDDEN, ("on", "on", "riding", "riding")),
    **dict.fromkeys(("surfboard", "skateboard", "snowboard"), ("on", "riding", "with")),
    "skis": ("on", "with"),
    **dict.fromkeys(("tennis racket", "baseball bat", "baseball glove"), ("with", "with", "holding")),
    **dict.fromkeys(CARRIED, ("with", "with", "carrying")),
}
ADVERBS = ("", "", "", "down the street", "along the road", "across the field", "past the trees", "by the water")
NUMBERS = {2: "two", 3: "three", 4: "four"}


def more_words(nouns: Iterable[str]) -> tuple[str, ...]:
    """What such questions are made of beside a lexicon's own words, the plurals of its nouns included."""
    ways = {way for each in WAYS.values() for way in each}
    roles = {role for each in ROLES.values() for role in each}
    small = "both all and person people men rider riders its it"
    return (*sorted(ways | roles), *ADVERBS, *NUMBERS.values(), small, *map(plural, nouns))
