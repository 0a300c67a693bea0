"""What people are not: the sex and age that captions tell, and what nobody does without the thing for it."""

import re
from collections.abc import Collection, Mapping, Sequence

from locater.worlds.composed.pack.nouns import ROLES
from locater.worlds.composed.pack.roles import HELD, RIDDEN

# Nouns for people by sex and age, and the ways to say them.
SEXES_AND_AGES: Mapping[str, tuple[str, ...]] = {
    "man": ("man", "guy"),
    "woman": ("woman", "lady"),
    "boy": ("boy",),
    "girl": ("girl",),
}
_IN_CAPTIONS: Mapping[str, tuple[str, ...]] = {
    "man": ("man", "men", "guy", "guys", "gentleman", "male"),
    "woman": ("woman", "women", "lady", "ladies", "female"),
    "boy": ("boy", "boys"),
    "girl": ("girl", "girls"),
}
_MALE, _FEMALE = ("man", "boy"), ("woman", "girl")
_AGREEING = 2  # captions that must say so
_VAGUE = ("skater",)  # people skate on other things too
_ALSO_FOR: Mapping[str, tuple[str, ...]] = {
    "player": ("sports ball", "frisbee"),
    "rider": ("elephant", "skateboard"),
}


def told_by(captions: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """What the one person of a picture is called by its captions, and the words that are false; None: it is not told.

    Enough captions must tell the sex, and none the other; where they do not agree on the age, it is a person.
    """
    words = [set(re.findall("[a-z]+", text.lower())) for text in captions]
    said = {noun: sum(not each.isdisjoint(ways) for each in words) for noun, ways in _IN_CAPTIONS.items()}
    for own, other in ((_MALE, _FEMALE), (_FEMALE, _MALE)):
        if sum(said[noun] for noun in own) >= _AGREEING and not any(said[noun] for noun in other):
            noun = next((each for each in own if said[each] >= _AGREEING and not said[_other(own, each)]), "person")
            false = (*other, _other(own, noun)) if noun != "person" else other
            return noun, tuple(word for each in false for word in SEXES_AND_AGES[each])
    return None


def _other(pair: tuple[str, str], noun: str) -> str:
    return pair[1] if noun == pair[0] else pair[0]


def denied_roles(around: Collection[str]) -> tuple[str, ...]:
    """The words for what people do that are false of everybody in a picture of these things: no skier without skis."""
    return tuple(word for word, needed in _NEEDED.items() if needed.isdisjoint(around))


def _needed() -> dict[str, frozenset[str]]:
    """Every word for a role, and the things of which it takes one."""
    needed: dict[str, set[str]] = {}
    for thing, role in {**HELD, **RIDDEN}.items():
        for word in ROLES[role]:
            needed.setdefault(word, set(_ALSO_FOR.get(word, ()))).add(thing)
    return {word: frozenset(things) for word, things in needed.items() if word not in _VAGUE}


_NEEDED = _needed()
