"""A plain word on each sentence once a video is done: found, hardly to be trusted, or nothing there."""

import textwrap
from collections.abc import Iterator, Sequence

from locater.records import FrameMasks

_LONGEST = 80  # letters of a sentence that is told again
LOW = 0.4  # scores below it are told: such a mask is right in less than half of all cases


def ambiguous(sentence: str) -> str:
    """What to say of a sentence that seems to fit a second thing too."""
    name = textwrap.shorten(sentence, _LONGEST, placeholder="...")
    return f'"{name}" may fit more than one thing: without what was found, something else is; say which is meant.'


class Findings:
    """Counts what the results of one video mark."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = [textwrap.shorten(name, _LONGEST, placeholder="...") for name in names]
        self._marked = [0] * len(names)
        self._scores = [0.0] * len(names)
        self._has_scores = False

    def take(self, result: FrameMasks) -> None:
        """One frame more."""
        self._has_scores |= result.score is not None
        for row, mask in enumerate(result.masks):
            if mask.any():
                self._marked[row] += 1
                self._scores[row] += result.confidence[row]

    def sentences(self) -> Iterator[str]:
        """What a person should know, a sentence each."""
        for name, marked, total in zip(self._names, self._marked, self._scores, strict=True):
            if not marked:
                yield f'Nothing was found for "{name}".'
            elif self._has_scores and total / marked < LOW:
                yield f'The score of "{name}" is low ({total / marked:.2f}); look at its masks before you use them.'
