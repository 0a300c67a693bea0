"""What may be said of named things: for every crop and every word for a noun, true, false or doubtful."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import torch
from torch import Tensor

from locater.datasets.coco_val import ALIKE, FAMILIES
from locater.training.second_look.people import SEXES_AND_AGES
from locater.worlds.composed.pack.nouns import Nouns

_DENIED = 0.9  # of the crops of a word: those that another must be false of, to be its rival


@dataclass(frozen=True)
class Called:
    """What a thing is called, broader nouns that are true of it too, and words that are known to be false of it."""

    noun: str
    broader: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


@dataclass(frozen=True)
class Labels:
    """Every crop against every word."""

    words: tuple[str, ...]
    is_true: Tensor  # (N, M) bool
    is_known: Tensor  # (N, M) bool: whether it is true or false; what is doubtful teaches nothing
    is_kin: Tensor  # (M, M) bool: whether two words name things of one kind or family, as a dog and a cat, or two tools

    def rivals(self) -> Tensor:
        """Which words (M, M) bool are near kin and never true at once: of what the second names, the first is false."""
        true, false = self.is_true.float(), (self.is_known & ~self.is_true).float()
        is_denied = _DENIED * true.sum(0) <= (true.T @ false).T
        return self.is_kin & is_denied & (true.T @ true == 0) & self.is_true.any(0)


def label(named: Sequence[Called]) -> Labels:
    """The labels of things by what they are called."""
    nouns = Nouns({each.noun: each.broader for each in named})
    owners: dict[str, set[str]] = {}
    for noun, said in _said(nouns).items():
        for word in said:
            owners.setdefault(word, set()).add(noun)
    words = tuple(sorted(owners))
    rows = {called: _row(called, words, owners, nouns) for called in dict.fromkeys(named)}
    return Labels(
        words,
        torch.stack([rows[called][0] for called in named]),
        torch.stack([rows[called][1] for called in named]),
        _kin(words, owners, nouns),
    )


def _kin(words: tuple[str, ...], owners: dict[str, set[str]], nouns: Nouns) -> Tensor:
    """Words of one kind, and words of one of COCO's families that are not too much alike to be told apart."""
    kinds = [{kind for noun in owners[word] for kind in nouns.broader[noun]} for word in words]
    every = sorted(set().union(*kinds))
    is_kin = _in_common([[kind in of_word for kind in every] for of_word in kinds])
    pairs = {pair for family in FAMILIES.values() for pair in permutations(family, 2)}
    pairs -= {pair for alike in ALIKE for pair in permutations(alike)}
    for row, word in enumerate(words):
        related = {other for noun, other in pairs if noun in owners[word]}
        is_kin[row] |= torch.tensor([not related.isdisjoint(owners[other]) for other in words])
    return is_kin


def _in_common(belongs: list[list[bool]]) -> Tensor:
    """Which rows (M, M) bool of a table (M, K) have something in common."""
    table = torch.tensor(belongs).reshape(len(belongs), -1).float()
    return table @ table.T > 0


def _row(called: Called, words: tuple[str, ...], owners: dict[str, set[str]], nouns: Nouns) -> tuple[Tensor, Tensor]:
    """Which words are true of a thing, and which are known to be true or false (M,)."""
    true, doubtful = {called.noun, *called.broader}, set(nouns.doubtful(called.noun))
    if called.noun in SEXES_AND_AGES:  # what a man does is as doubtful as what any person does
        doubtful |= nouns.doubtful("person")
    if "person" in true:  # and a surfer may be a man or a woman
        doubtful |= SEXES_AND_AGES.keys()
    doubtful -= true
    denied = set(called.denied)
    is_true = torch.tensor([bool(owners[word] & true) and word not in denied for word in words])
    is_known = torch.tensor([word in denied or not owners[word] & doubtful for word in words])
    return is_true, is_true | is_known


def _said(nouns: Nouns) -> dict[str, tuple[str, ...]]:
    """Each noun with the ways to say it; sex and age, where they are known of some, are said of those alone."""
    said = nouns.said()
    told = {noun: SEXES_AND_AGES[noun] for noun in SEXES_AND_AGES.keys() & said.keys()}
    if told and "person" in said:
        words = {word for ways in told.values() for word in ways}
        said["person"] = tuple(word for word in said["person"] if word not in words)
    return said | told
