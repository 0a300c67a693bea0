"""Which words of a sentence name the thing that is meant, *dog* of "the dog on a skateboard", and what it is on."""

from collections.abc import Sequence

from locater_lite.text.colour_names import COLOUR_WORDS, SAME_COLOURS
from locater_lite.text.words import split_words

_DETERMINERS = frozenset(
    split_words(
        "a an the this that these those my your his her its our their one two three four five all both every each "
        "some any another other first second third last next only of"
    )
)
_ADJECTIVES = frozenset(
    split_words(
        "small large big little tiny huge tall short long wide thin fat old young new left right leftmost rightmost "
        "middle central center front back rear upper lower top bottom near nearest far farther farthest closer "
        "closest distant foremost biggest largest smallest tallest dark light bright pale striped spotted plain fast "
        "slow quick wild adult male female wooden metal plastic empty full open closed wet dry round square same "
        "whole single main more most very really"
    )
)
# A noun phrase ends before any of these; "that" and "which" also when they begin what tells more of it.
_AFTER_NOUN = frozenset(
    split_words(
        "in on at with without by near next under below beneath behind above over across along around against among "
        "between beside besides before after from to into onto toward towards through off out up down inside outside "
        "for as like who whose whom which where when while that is are was were be been being has have had and or but "
        "not of here there away together alone he she it they"
    )
)
_LIGHT = ["traffic", "light"]  # which is not an attribute here
_CARRIED = ("riding", "on")
_LONGEST = 2  # words of a name: "fire hydrant", "tennis player"


def head_noun(words: Sequence[str]) -> range:
    """The places of the words that name the thing; of no place where there is no such word."""
    lower = [word.lower() for word in words]
    place, is_single = 0, False
    while place < len(lower) and lower[place] in _DETERMINERS:
        is_single |= lower[place] in ("a", "an")
        place += 1
    start = end = place
    while end < len(lower) and not _ends(lower[end], is_named=end > start, is_single=is_single):
        end += 2 if lower[end : end + 2] == _LIGHT else 1
        if end - start == 1 and _leads(lower[end - 1]):
            start = end
    if start == end:  # nothing but attributes, as in "the left one" or "the white"
        return range(max(place, end - 1), end)
    return range(max(start, end - _LONGEST), end)


def carriers(words: Sequence[str]) -> list[range]:
    """The places of the words that name what the thing is on or rides, as far as they are told."""
    after = [
        place + 1 for place, word in enumerate(words) if word.lower() in _CARRIED and place >= head_noun(words).stop
    ]
    found = [(start, head_noun(words[start:])) for start in after]
    return [range(start + noun.start, start + noun.stop) for start, noun in found if len(noun)]


def _ends(word: str, is_named: bool, is_single: bool) -> bool:
    """Whether a noun phrase is over before this word, which comes after its noun or (not `is_named`) before."""
    if not is_named:  # "the black and white cat"
        return word in _AFTER_NOUN and word != "and"
    return word in _AFTER_NOUN or word in _DETERMINERS or _is_attribute(word) or _is_verb(word, is_single)


def _leads(word: str) -> bool:
    """Whether a word before any noun only leads to it: "black", "and", "parked"."""
    return _is_attribute(word) or word == "and" or word.endswith("ed")


def _is_attribute(word: str) -> bool:
    return word in _ADJECTIVES or word in COLOUR_WORDS or word in SAME_COLOURS


def _is_verb(word: str, is_single: bool) -> bool:
    """Whether a word after a noun tells what the thing does: "running", "dressed", "a dog runs"."""
    return word.endswith(("ing", "ed", "ly")) or (is_single and word.endswith("s") and not word.endswith("ss"))
