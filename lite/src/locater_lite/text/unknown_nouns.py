"""Which unknown words of a sentence are too much: those that stand where a noun must, and another language's.

No parser is needed, and none is installed with the package: an unknown word is read by its neighbours and its ending.
"""

from collections.abc import Sequence

from locater_lite.text.lexicon import FUNCTION_WORDS

_BETWEEN_PHRASES = FUNCTION_WORDS | frozenset(("but", "not", "than", "has"))
_NO_NOUNS_ENDINGS = ("ly", "ing", "ed", "est", "ish", "less", "ful", "ous")
# Articles of other languages, at the start of a sentence; not "die", "den", "o" and "os", which are English too.
_FOREIGN_ARTICLES = frozenset(
    ("der", "das", "dem", "ein", "eine", "einen", "einem", "einer", "le", "la", "les", "un", "une", "des", "el", "los")
) | frozenset(("las", "una", "il", "lo", "gli", "uno", "het", "een", "de", "det"))


def unknown_nouns(words: Sequence[str], unknown: Sequence[str]) -> list[str]:
    """Those of the `unknown` words without which a sentence means something else; none where it can do without.

    These are the nouns among them. Of a sentence that begins with another language's article, or of whose content
    words more than half are unknown, it is every one; where all of such a sentence happens to be known, its article.
    """
    lowered = [word.lower() for word in words]
    missing = {word.lower() for word in unknown}
    if lowered[0] in _FOREIGN_ARTICLES and len(words) > 1 and not words[0].isupper():  # but "UN soldiers"
        return [word for word in words if word.lower() in missing] or [words[0]]
    content = [word for word in lowered if word not in _BETWEEN_PHRASES]
    strange = [word for word in content if word in missing and _is_spelt_with_letters(word)]
    if 2 * len(strange) > len(content):
        return [word for word in words if word.lower() in strange]
    following = (*lowered[1:], "")
    return [
        word
        for word, plain, after in zip(words, lowered, following, strict=True)
        if plain in strange and may_be_noun(plain) and _ends_a_phrase(after)
    ]


def may_be_noun(word: str) -> bool:
    """Whether a lower-case word by itself may name something: by its letters, and by what it surely is instead."""
    return _is_spelt_with_letters(word) and word not in _BETWEEN_PHRASES and not word.endswith(_NO_NOUNS_ENDINGS)


def _ends_a_phrase(after: str) -> bool:
    """Whether a word before this one is the last of its phrase, where English has the noun: a *corgi* | is eating."""
    return not after or after in _BETWEEN_PHRASES or after.endswith(("ing", "ed"))


def _is_spelt_with_letters(word: str) -> bool:
    return not any(letter.isdigit() for letter in word)  # "number 22", "formula 1"
