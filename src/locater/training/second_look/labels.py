"""What may be said of named things: for every crop and every word for a noun, true, false or doubtful."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from locater.worlds.composed.pack.nouns import Nouns


@dataclass(frozen=True)
class Labels:
    """Every crop against every word."""

    words: tuple[str, ...]
    is_true: Tensor  # (N, M) bool
    is_known: Tensor  # (N, M) bool: whether it is true or false; what is doubtful teaches nothing


def label(named: Sequence[tuple[str, tuple[str, ...]]]) -> Labels:
    """The labels of things called by a noun and broader ones."""
    nouns = Nouns(dict(named))
    owners: dict[str, set[str]] = {}
    for noun, said in nouns.said().items():
        for word in said:
            owners.setdefault(word, set()).add(noun)
    words = tuple(sorted(owners))
    by_name: dict[str, tuple[Tensor, Tensor]] = {}
    for noun, broader in dict(named).items():
        true, doubtful = {noun, *broader}, nouns.doubtful(noun)
        is_true = torch.tensor([bool(owners[word] & true) for word in words])
        by_name[noun] = is_true, is_true | torch.tensor([not owners[word] & doubtful for word in words])
    rows = [by_name[noun] for noun, _ in named]
    return Labels(
        words,
        torch.stack([true for true, _ in rows]),
        torch.stack([known for _, known in rows]),
    )
