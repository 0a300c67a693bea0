"""The plain forms behind an English word, by rule: enough to find "puppies" where only "puppy" is listed."""

import re
from collections.abc import Iterator

_SHORTEST = 2  # letters that must be left: "is" is no plural of "i", "king" no form of "k"
_VOWELS = frozenset("aeiou")
_LOSES_E = re.compile(r"((^|[^aeiou])[aeiou][^aeiouwxy]|[aeiou])$")  # bit-ing, to-ed; not eat-ing, jump-ing


def base_forms(word: str) -> Iterator[str]:
    """Candidates for the base form of a lower-case word, likeliest first; most of them are no words at all.

    Possessives, plurals, -ing and -ed. Irregular forms (geese, ran) have no rule and must be listed themselves.
    """
    for ending in ("'s", "’s"):
        if word.endswith(ending):
            owner = word.removesuffix(ending)
            yield owner
            yield from base_forms(owner)
            return
    for form in _candidates(word):
        if len(form) >= _SHORTEST and not _VOWELS.isdisjoint(form.replace("y", "i")):
            yield form


def _candidates(word: str) -> Iterator[str]:
    if word.endswith("ies"):
        yield word[:-3] + "y"  # puppies
    if word.endswith("ves"):
        yield word[:-3] + "f"  # wolves
        yield word[:-3] + "fe"  # knives
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]  # dogs, horses
        if word.endswith("es"):
            yield word[:-2]  # boxes
    if word.endswith("ied"):
        yield word[:-3] + "y"  # carried
    for ending in ("ing", "ed"):
        if word.endswith(ending):
            yield from _without_verb_ending(word.removesuffix(ending))


def _without_verb_ending(stem: str) -> Iterator[str]:
    if stem.endswith("y"):
        yield stem[:-1] + "ie"  # ly-ing
    lost_e = _LOSES_E.search(stem) is not None
    if lost_e:
        yield stem + "e"  # rid-ing: without its e it would be written ridding
    yield stem  # jump-ing
    if not lost_e:
        yield stem + "e"  # danc-ing
    if len(stem) > _SHORTEST and stem[-1] == stem[-2]:
        yield stem[:-1]  # runn-ing
