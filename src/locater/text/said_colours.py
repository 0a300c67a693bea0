"""Which colours a sentence says the thing itself has: *red* of "the red car", *blue* of "the man in a blue shirt"."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from locater.text.colour_names import COLOUR_WORDS, SAME_COLOURS
from locater.text.head_noun import head_noun
from locater.text.people import PEOPLE
from locater.text.words import split_words

_WORN = ("in", "wearing")
# What covers much of a person; of a hat or a shoe a mask may show hardly anything.
_GARMENTS = frozenset(
    split_words(
        "apron attire blazer blouse bodysuit cardigan clothes clothing coat costume dress gown hoodie jacket jean "
        "jeans jersey jumper jumpsuit kimono overall overalls outfit pajamas pants robe shirt shirts shorts skirt suit "
        "sweater sweatpants sweatshirt swimsuit t-shirt tee-shirt top tracksuit trousers tshirt uniform vest wetsuit"
    )
)
_BEFORE_GARMENTS = frozenset(
    split_words(
        "a an the his her and dark light bright pale long short striped plain t tee polo tank lab denim leather knit"
    )
)
# A list, not whatever stands in a noun's place: "the red haired" has the hair's colour, "the red bed" the bed's.
_NOUNS_IN_ED = frozenset(
    split_words(
        "bed flatbed hotbed riverbed seabed breed crossbreed feed moped purebred reed seaweed seed shed sled bobsled "
        "dogsled steed thoroughbred tumbleweed tweed weed"
    )
)
_OF_SKIN = ("white", "black", "brown")  # said of people they are no colour that pixels have


_HAT = ("top", "hat")  # of which hardly anything may be seen, as of a shoe


class SaidColour(NamedTuple):
    """One of `COLOUR_WORDS`, and whether it is that of clothes: a part of what is marked."""

    word: str
    is_worn: bool


def said_colours(words: Sequence[str]) -> tuple[SaidColour, ...]:
    """What is said of the thing, each once; not of what it is with, on or beside, nor of a part, as "red haired"."""
    lower = [word.lower() for word in words]
    noun = head_noun(lower)
    if not noun:
        return ()
    is_somebody = any(lower[place] in PEOPLE for place in noun)
    of_all = [
        place
        for place in range(noun.start)
        if not _is_of_a_part(lower[place + 1]) and not (is_somebody and lower[place] in _OF_SKIN)
    ]
    places = [*of_all, *_worn(lower, noun.stop)]
    found = {colour: place >= noun.stop for place in reversed(places) if (colour := _colour(lower[place]))}
    return tuple(SaidColour(colour, is_worn) for colour, is_worn in reversed(found.items()))


def _worn(words: Sequence[str], start: int) -> Iterator[int]:
    """The places of all words from "in" or "wearing" up to the last garment: "in light blue jeans and a red shirt".

    Clothes need not be named: "in red", at the sentence's end.
    """
    for first in (place + 1 for place in range(start, len(words)) if words[place] in _WORN):
        last = end = first
        while end < len(words) and (_colour(words[end]) or words[end] in _BEFORE_GARMENTS | _GARMENTS):
            if tuple(words[end : end + 2]) == _HAT:
                break
            end += 1
            if words[end - 1] in _GARMENTS:
                last = end
        yield from range(first, end if end == len(words) and _colour(words[end - 1]) else last)


def _is_of_a_part(after: str) -> bool:
    """Whether a colour before this word is not the whole thing's: "red haired", "white bearded"."""
    return after.endswith("ed") and after not in _NOUNS_IN_ED and _colour(after) is None


def _colour(word: str) -> str | None:
    return word if word in COLOUR_WORDS else SAME_COLOURS.get(word)
