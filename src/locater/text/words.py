"""Splitting sentences into words, and a vocabulary that numbers them."""

import re
from collections.abc import Iterable, Sequence

from locater.text.base_forms import base_forms

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")
_INSIDE_WORD = re.compile(r"[-'’]")


def split_words(expression: str) -> list[str]:
    """The words of a sentence in order, as written; punctuation between words is dropped."""
    return _WORD.findall(expression)


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

    def __init__(self, listed: Sequence[str], trained: Sequence[str]) -> None:
        super().__init__((*listed, *trained))
        self._first_trained = len(listed) + 2

    def read(self, word: str) -> list[int]:
        """As listed, as a base form, as the parts around its hyphens, or as the two words it is written from."""
        word = word.lower()
        number = self.nearest(word)
        if number != self.UNKNOWN:
            return [number]
        parts = [self.nearest(part) for part in _INSIDE_WORD.split(word)]
        if any(part != self.UNKNOWN for part in parts):
            return parts
        return self._halves(word) or [self.UNKNOWN]

    def nearest(self, word: str) -> int:
        """The number of the word or else of its base form; `UNKNOWN` where neither is known."""
        forms = (self.number(form) for form in (word, *base_forms(word.lower())))
        return next((number for number in forms if number != self.UNKNOWN), self.UNKNOWN)

    def _halves(self, word: str) -> list[int]:
        """The two words of a closed compound such as snowmobile: the pair whose rarer word is the most common."""
        cuts = range(self.SHORTEST_HALF, len(word) - self.SHORTEST_HALF + 1)
        pairs = [[self.number(word[:cut]), self.nearest(word[cut:])] for cut in cuts]
        common = [pair for pair in pairs if max(map(self._rank, pair)) < self.COMMON]
        return min(common, key=lambda pair: max(map(self._rank, pair)), default=[])

    def _rank(self, number: int) -> int:
        """How rare a word is: its place in the list, 0 for a trained one, past the list for an unknown one."""
        if number == self.UNKNOWN:
            return max(len(self.words), self.COMMON)
        return number - 2 if number < self._first_trained else 0
