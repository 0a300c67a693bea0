"""Sentences as the numbers of their words, and what is not understood of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from locater_lite.errors import LocaterError
from locater_lite.text.unknown_nouns import unknown_nouns
from locater_lite.text.words import ForgivingVocabulary, Vocabulary, check_lengths, split_words

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tokens:
    """One sentence."""

    numbers: Array  # (1, W)
    word_of_token: Array  # (1, W), -1 on padding
    notices: tuple[str, ...]  # what was cut, not known or guessed
    not_understood: tuple[str, ...]  # nouns without which the sentence means something else


class Reader:
    """Reads sentences as the network does."""

    def __init__(self, settings: dict[str, Any]) -> None:
        if "vocabulary" not in settings:
            raise LocaterError("This network reads words by a tokenizer of its own; run it with `locater segment`.")
        self.max_words: int = settings["max_words"]
        words, listed = settings["vocabulary"], settings["listed"]
        self.vocabulary = Vocabulary(words) if listed is None else ForgivingVocabulary(words[:listed], words[listed:])

    def numbers(self, words: Sequence[str]) -> Tokens:
        """Words as numbers, cut to what can be read, without a look at what they are."""
        read = [(number, place) for place, word in enumerate(words) for number in self.vocabulary.read(word)]
        padding = [(Vocabulary.PADDING, -1)] * (self.max_words - len(read))
        numbers, owners = zip(*(read + padding)[: self.max_words], strict=True)
        return Tokens(np.array([numbers], np.int64), np.array([owners], np.int64), (), ())

    def read(self, text: str) -> Tokens:
        """A sentence that a person said."""
        check_lengths(text)
        words, short = split_words(text), _shortened(text, 60)
        if not words:
            raise LocaterError(f"The expression {short!r} holds no words; say what to segment.")
        lengths = [len(self.vocabulary.read(word)) for word in words[: self.max_words]]
        fitting = max(1, sum(used <= self.max_words for used in accumulate(lengths)))
        kept, notices = words[:fitting], []
        if cut := len(words) - fitting:
            notices.append(f"'{short}': only the first {fitting} words are read, {cut} more are not.")
        unknown = [word for word in kept if Vocabulary.UNKNOWN in self.vocabulary.read(word)]
        if unknown:
            notices.append(f"'{short}': not understood, and read as unknown words: {_named(unknown)}.")
        guess = self.vocabulary.guess if isinstance(self.vocabulary, ForgivingVocabulary) else lambda _: ""
        for word, meant in {word: guess(word) for word in kept}.items():
            if meant:
                notices.append(f"'{short}': {_shortened(word, 30)} is not known, and read as {meant}.")
        nouns = unknown_nouns(kept, unknown)
        refused = (f"'{short}': not understood: {_named(nouns)}",) if nouns else ()
        tokens = self.numbers(kept)
        return Tokens(tokens.numbers, tokens.word_of_token, tuple(notices), refused)


def _named(words: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(_shortened(word, 30) for word in words))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
