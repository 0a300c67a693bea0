"""Splitting sentences into words, and a vocabulary that numbers them."""

import re
from collections.abc import Iterable, Sequence
from string import ascii_lowercase

from locater_lite.errors import LocaterError
from locater_lite.text.base_forms import base_forms

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_INSIDE_WORD = re.compile(r"[-'’]")
LONGEST_WORD, LONGEST_SENTENCE = 100, 2000  # letters, characters


def check_lengths(expression: str) -> None:
    """Nothing, for what a person may have said."""
    if len(expression) > LONGEST_SENTENCE:
        raise LocaterError(
            f"A sentence has {len(expression):,} characters; say what to segment in at most {LONGEST_SENTENCE:,}."
        )
    longest = max(map(len, split_words(expression)), default=0)
    if longest > LONGEST_WORD:
        raise LocaterError(f"A word has {longest:,} letters; words of at most {LONGEST_WORD} are read.")


def split_words(expression: str) -> list[str]:
    """The words of a sentence in order, as written; punctuation between words is dropped."""
    return _WORD.findall(expression)


MOST_REMEMBERED = 20_000  # words whose numbers are looked up once


class Vocabulary:
    """Numbers for lower-cased words: 0 is padding, 1 is any unknown word. Of a word listed twice the later counts."""

    PADDING = 0
    UNKNOWN = 1

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self._number = {word: index + 2 for index, word in enumerate(self.words)}

    @classmethod
    def of_text(cls, expressions: Iterable[str]) -> "Vocabulary":
        """The vocabulary of a training text, sorted so that it does not depend on the text's order."""
        return cls(sorted({word.lower() for text in expressions for word in split_words(text)}))

    def __len__(self) -> int:
        return len(self.words) + 2

    def number(self, word: str) -> int:
        """The word's number; `UNKNOWN` where it is not listed."""
        return self._number.get(word.lower(), self.UNKNOWN)

    def read(self, word: str) -> list[int]:
        """The numbers that a word is read as, at least one."""
        return [self.number(word)]


class ForgivingVocabulary(Vocabulary):
    """Words of a large list, the most common first, and of a training text; their forms and compounds are read too."""

    # Both halves of a compound are common words: with rarer ones more names and foreign words fall apart by chance.
    COMMON = 8_000
    SHORTEST_HALF = 3
    SHORTEST_SLIP = 4
    SHORTEST_TAIL = 5

    def __init__(self, listed: Sequence[str], trained: Sequence[str]) -> None:
        super().__init__((*listed, *trained))
        self.listed = len(listed)
        self._first_trained = self.listed + 2
        self._nearest: dict[str, int] = {}  # of words that were read: training reads the same few thousand all the time

    def read(self, word: str) -> list[int]:
        """As listed, a base form, the parts around its hyphens, the two words it is written from; else as guessed."""
        word = word[:LONGEST_WORD].lower()  # no word is longer, and guessing takes the time of its square
        return self._known(word) or [self.number(self._guess(word))]

    def guess(self, word: str) -> str:
        """The word that an unknown one is taken for; "" where it is known or nothing is near."""
        word = word[:LONGEST_WORD].lower()
        return "" if self._known(word) else self._guess(word)

    def _known(self, word: str) -> list[int]:
        """The numbers of a word that is read without guessing; none where it is not."""
        number = self.nearest(word)
        if number != self.UNKNOWN:
            return [number]
        parts = [self.nearest(part) for part in _INSIDE_WORD.split(word)]
        return parts if any(part != self.UNKNOWN for part in parts) else self._halves(word)

    def nearest(self, word: str) -> int:
        """The number of the word or else of its base form; `UNKNOWN` where neither is known."""
        found = self._nearest.get(word)
        if found is None:
            forms = (self.number(form) for form in (word, *base_forms(word.lower())))
            found = next((number for number in forms if number != self.UNKNOWN), self.UNKNOWN)
            if len(self._nearest) < MOST_REMEMBERED:
                self._nearest[word] = found
        return found

    def _halves(self, word: str) -> list[int]:
        """The two words of a closed compound such as snowmobile: the pair whose rarer word is the most common."""
        cuts = range(self.SHORTEST_HALF, len(word) - self.SHORTEST_HALF + 1)
        pairs = [[self.number(word[:cut]), self.nearest(word[cut:])] for cut in cuts]
        common = [pair for pair in pairs if max(map(self._rank, pair)) < self.COMMON]
        return min(common, key=lambda pair: max(map(self._rank, pair)), default=[])

    def _guess(self, word: str) -> str:
        """The trained word that a slip of the fingers made this from, or the word that it ends in; "" for none.

        Slips are a swap, a letter too few or one typed twice: any other would make *burner* of *burger*. What a thing
        is stands at the end of its name: a *paraglider* is some *glider*.
        """
        if len(word) >= self.SHORTEST_SLIP:
            meant = {slip for slip in _slips(word) if self.number(slip) >= self._first_trained}
            if len(meant) == 1:
                return meant.pop()
        ends = (end for cut in range(1, len(word)) for end in (word[cut:], word[cut:].removesuffix("s")))
        known = (end for end in ends if len(end) >= self.SHORTEST_TAIL and self.number(end) != self.UNKNOWN)
        return next(known, "")

    def _rank(self, number: int) -> int:
        """How rare a word is: its place in the list, 0 for a trained one, past the list for an unknown one."""
        if number == self.UNKNOWN:
            return max(len(self.words), self.COMMON)
        return number - 2 if number < self._first_trained else 0


def _slips(word: str) -> Iterable[str]:
    """What may have been meant by a word in which two letters are swapped, one is missing or one is there twice."""
    for place in range(len(word) - 1):
        one, two = word[place], word[place + 1]
        yield word[:place] + (one if one == two else two + one) + word[place + 2 :]
    for place in range(len(word) + 1):
        yield from (word[:place] + letter + word[place:] for letter in ascii_lowercase)
