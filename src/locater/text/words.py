"""Splitting sentences into words, and a vocabulary that numbers them."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w+(?:[-'’]\w+)*")


def split_words(expression: str) -> list[str]:
    """The words of a sentence in order, as written; punctuation between words is dropped."""
    return _WORD.findall(expression)


class Vocabulary:
    """Numbers for lower-cased words: 0 is padding, 1 is any unknown word."""

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
        """The word's number; `UNKNOWN` where it was never trained on."""
        return self._number.get(word.lower(), self.UNKNOWN)
