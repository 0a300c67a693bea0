"""Sentences as a parser that was trained on newspapers reads them best: "man in black standing" lacks an "is".

Annotators write telegraphic English, in which taggers take "ball jumping" for two nouns. A sentence is therefore
completed before it is parsed; every word remembers where it stands in the original, an inserted one that it does not.
"""

from dataclasses import dataclass
from itertools import pairwise

from locater.text.roles import lexicon

_FINITE_TAGS = frozenset({"VBZ", "VBP", "VBD", "MD"})


@dataclass(frozen=True)
class Word:
    """A word as the parser is shown it, and where it comes from."""

    shown: str
    written: str  # in lower case; empty for a word that was put in
    start: int
    end: int

    @property
    def is_inserted(self) -> bool:
        """Whether the sentence itself has no such word."""
        return not self.written


def read_words(tokens: list[tuple[str, int]]) -> list[Word]:
    """The words of a sentence, given each token's text and offset; with an article in front where one is missing.

    In lower case, since annotators capitalise as they please and a capital makes a tagger see a name. Prepositions of
    several words become one.
    """
    texts = [text.lower() for text, _ in tokens]
    words: list[Word] = []
    place = 0
    while place < len(tokens):
        length = _length_of_unit(texts, place)
        last_text, last_start = tokens[place + length - 1]
        written = " ".join(texts[place : place + length])
        word = Word(_shown(texts, place, length), written, tokens[place][1], last_start + len(last_text))
        is_bare_side = words and words[-1].written in lexicon.BEFORE_BARE_SIDES and texts[place] in lexicon.SIDES
        words += [_insertion("the"), word] if is_bare_side else [word]  # "on left" is read as an adverb
        place += length
    if not words or _is_function_word(words[0].shown) or is_participle(words[0].shown):
        return words
    return [_insertion("the"), *words]


def has_auxiliary_first(words: list[Word]) -> bool:
    """Whether a form of "be" stands before every participle, so that nothing need be put in."""
    place = _main_participle(words)
    return place is None or any(word.shown in lexicon.FORMS_OF_BE for word in words[:place])


def with_auxiliary(words: list[Word], tags: list[str]) -> list[Word] | None:
    """The words with an "is" before the participle that has none, given the tags so far; None where nothing lacks."""
    place = _main_participle(words)
    if place is None or any(tag in _FINITE_TAGS for tag in tags[:place]):
        return None
    if tags[place] == "VBG" and any(tag in _FINITE_TAGS for tag in tags[place:]):
        return None  # "a man riding a bike falls": another verb is the main one
    subject = [] if place else [_insertion("it")]
    return [*words[:place], *subject, _insertion("is"), *words[place:]]


def with_copula(words: list[Word], tags: list[str]) -> list[Word] | None:
    """The words with an "is" where, without any verb, an adverb says where somebody is and a preposition where else.

    "Man behind on the stairs" tells where a man is; "a car on the left" only which car is meant, and stays as it is.
    """
    if any(tag.startswith(("VB", "MD")) for tag in tags):
        return None
    for place, (one, two) in enumerate(pairwise(words)):
        is_twice = one.written in lexicon.PLACE_ADVERBS and two.written in lexicon.PLACE_PREPOSITIONS
        if is_twice and place and tags[place - 1].startswith("NN"):
            return [*words[:place], _insertion("is"), *words[place:]]
    return None


def is_participle(word: str) -> bool:
    """Whether a word looks like a verb in -ing."""
    return len(word) > 4 and word.endswith("ing") and word not in lexicon.NOUNS_IN_ING


def _length_of_unit(texts: list[str], place: int) -> int:
    """How many tokens from here on are shown as one word: "in front of", "bottom left"."""
    ahead = tuple(texts[place : place + 3])
    for unit in (ahead, ahead[:2]):
        if unit in lexicon.COMPOUND_PREPOSITIONS:
            return len(unit)
    pair = texts[place : place + 2]
    is_corner = len(pair) == 2 and any(
        one in lexicon.BEFORE_SIDES and two in {"left", "right"} for one, two in (pair, reversed(pair))
    )
    return 2 if is_corner else 1


def _shown(texts: list[str], place: int, length: int) -> str:
    """The word that the parser is shown for a unit: itself, or one like it that can be read in one way only."""
    unit = " ".join(texts[place : place + length])
    before = texts[place - 1] if place else ""
    after, after_that = (*texts[place + length : place + length + 2], "", "")[:2]
    is_thing_next = after in lexicon.OBJECT_STARTS or not (after == "" or _is_function_word(after))
    is_verb_next = is_participle(after) and (not after_that or _is_function_word(after_that))
    is_dressed_later = any(one in lexicon.CLOTHES and two == "is" for one, two in pairwise(texts[place + 1 :]))
    readings = {
        # the left is also the past of "leave"; its opposite is no verb
        "left": ("right", after not in lexicon.OBJECT_STARTS and before not in {"has", "have", "had"}),
        "nearby": ("near", is_thing_next),
        "cross": ("across", is_participle(before)),
        # slips of the keyboard: "a dog in jumping up and down", "a girl is pink shirt is running"
        "in": ("is", is_verb_next and not lexicon.FORMS_OF_BE.intersection(texts)),
        "is": ("in", is_dressed_later),
    }
    if unit in lexicon.PEOPLE and after in lexicon.BODY_PARTS:
        return "human"  # "on a person hand" lacks its 's, and is read as on a person; an adjective has one reading
    reading, is_meant = readings.get(unit, (unit, True))
    if length == 2 and tuple(texts[place : place + 2]) not in lexicon.COMPOUND_PREPOSITIONS:
        return "corner"
    return lexicon.COMPOUND_PREPOSITIONS.get(tuple(texts[place : place + length]), reading if is_meant else unit)


def _main_participle(words: list[Word]) -> int | None:
    """Where the first participle stands that says what is done, and not of which kind a thing is ("racing car")."""
    shown = [word.shown for word in words]
    candidates = [
        place
        for place, word in enumerate(shown)
        if is_participle(word) and (place == 0 or shown[place - 1] not in lexicon.DETERMINERS | lexicon.PREPOSITIONS)
    ]
    for place in candidates:
        after = shown[place + 1] if place + 1 < len(shown) else ""
        is_before_noun = bool(after) and not _is_function_word(after) and not is_participle(after)
        is_verb_later = place != candidates[-1] or bool(lexicon.FORMS_OF_BE.intersection(shown[place:]))
        if not (is_before_noun and (place == 0 or is_verb_later)):
            return place
    return None


def _is_function_word(word: str) -> bool:
    return word.endswith("ly") or word in lexicon.FUNCTION_WORDS


def _insertion(word: str) -> Word:
    return Word(word, "", -1, -1)
