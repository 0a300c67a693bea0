"""Words that patches are recognised by, told to them before any attention is learned."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from locater.records import Words
from locater.text.colour_names import COLOUR_WORDS

COLOURS = len(COLOUR_WORDS)
COLOUR_WEIGHT = 1.5  # at the start: chosen on networks that were trained without colours (docs/default.md)
UNRELATED = 0.2  # the likeness of two words that have nothing to do with each other, about


class Recognition(nn.Module):
    """Adds to a patch the words of the sentence that it is taken for, and what it is taken for at all.

    Both maps start at zero: a network that gets this later begins as it was.
    """

    def __init__(self, meaning_width: int, width: int) -> None:
        super().__init__()
        self.least = nn.Parameter(torch.tensor(UNRELATED))
        self.from_words = nn.Linear(width, width, bias=False)
        self.from_meanings = nn.Linear(meaning_width + COLOURS, width, bias=False)
        self.colour_weight = nn.Parameter(torch.tensor(COLOUR_WEIGHT))
        for layer in (self.from_words, self.from_meanings):
            nn.init.zeros_(layer.weight)

    def forward(self, patches: Tensor, meanings: Tensor, words: Words) -> Tensor:
        """`patches` (B, T, P, D) with what their `meanings` (B, T, P, E + C) have in common with the words' added."""
        called = torch.einsum("btpw,bwd->btpd", self.likeness(meanings, words), self.from_words(words.features))
        result: Tensor = patches + called + self.from_meanings(meanings)
        return result

    def likeness(self, meanings: Tensor, words: Words) -> Tensor:
        """How far each patch is taken for what each word names, (B, T, P, W), 0 where it has nothing to do with it."""
        assert words.meanings is not None
        said = words.meanings.to(meanings.dtype)
        likeness = torch.einsum("btpe,bwe->btpw", meanings[..., :-COLOURS], said[..., :-COLOURS])
        coloured = torch.einsum("btpc,bwc->btpw", meanings[..., -COLOURS:], said[..., -COLOURS:])
        likeness = likeness + self.colour_weight * coloured
        return F.relu(likeness - self.least)  # padding and unknown words have no likeness to anything
