"""Is what was marked what was said? A second look, at a crop of the video's own pixels around the mask."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HIDDEN = 256
MEASURES = 4
WELL_KNOWN = 0.99  # likeness of a noun to one that was trained: the same, but for rounding
LEAST_SURE = 1e-3
# What a lead over rivals weighs: by the logits of a noun that was trained often, of one that was not, and, of such a
# one, by what ImageNet's classifier takes the crop for; and what such a one is given. The first was chosen on the
# development videos, the others on crops kept back (dev/LOG.md).
LEAD, RARE_LEAD, TAKEN_LEAD, RARE_GIVEN = 1.5, 0.75, 15.0, 0.5


@dataclass(frozen=True)
class Asked:
    """Nouns that verdicts are wanted on, with what is the same for every crop."""

    nouns: Tensor  # (M, E)
    named: Tensor  # (M, D): where they are in the space of crops and nouns
    is_rare: Tensor  # (M,) bool
    is_rival: Tensor  # (M, K + R) bool: of the nouns that were trained on
    rivals_named: Tensor  # (K, D)


class SecondLook(nn.Module):
    """How well a crop goes with a noun, and how likely a mask is right by this and by how sure the network is of it.

    Patches are recognised one by one, and near kin have much in common: a dog's flank is a cow's. The whole thing in
    one picture tells them apart. Crops and nouns have vectors of one space, learned from many named things, so that a
    noun that was never trained on has a place among those that were. `familiar` are those that were, often: a verdict
    on a noun far from all of them weighs less. `rare` are others that were trained on. `rivals` tells which of them all
    are near kin and never true at once, as a horse and a cow: what goes with one much better is not the other. `taught`
    are names that the network was given later, by people whose word goes before this one's: it says nothing on them.
    """

    familiar: Tensor  # (K, E): directions of well-trained nouns
    rare: Tensor  # (R, E): of others
    rivals: Tensor  # (K + R, (K + R) / 8) uint8: bits of a table of all of these
    taught: Tensor  # (L, E): directions of names that it says nothing on

    def __init__(
        self, channels: int, meaning_width: int, width: int, familiar: int, taught: int = 0, rare: int = 0
    ) -> None:
        super().__init__()
        self.from_crop = nn.Linear(channels, width)
        self.from_noun = nn.Sequential(nn.Linear(meaning_width, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, width))
        self.scale = nn.Parameter(torch.tensor(2.3))
        self.likeness = nn.Parameter(torch.tensor(3.0))  # of what ImageNet's classifier takes the crop for
        self.bias = nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("familiar", torch.zeros(familiar, meaning_width))
        self.register_buffer("rare", torch.zeros(rare, meaning_width))
        self.register_buffer("rivals", packed(torch.zeros(familiar + rare, familiar + rare, dtype=torch.bool)))
        self.register_buffer("taught", torch.zeros(taught, meaning_width))
        self.weights = nn.Linear(MEASURES, 1)  # a logistic regression on answers that were not trained on

    def forward(self, seen: Tensor, taken_for: Tensor, nouns: Tensor) -> Tensor:
        """Logits (N, M): of N crops, features (N, C) and likeliest meanings (N, E), going with M nouns (M, E)."""
        return self._logits(self._placed(seen), taken_for, nouns, self._named(nouns))

    def asked(self, nouns: Tensor) -> Asked:
        """Nouns (M, E), made ready for `verdicts`."""
        is_same = nouns @ torch.cat([self.familiar, self.rare]).T > WELL_KNOWN
        is_rival = is_same.float() @ unpacked(self.rivals).float() > 0
        is_rare = is_same.any(-1) & ~is_same[:, : len(self.familiar)].any(-1)
        return Asked(nouns, self._named(nouns), is_rare, is_rival, self._named(self.familiar))

    def verdicts(self, seen: Tensor, taken_for: Tensor, asked: Asked) -> Tensor:
        """`forward`'s logits (N, M), or what the lead over a noun's best rival weighs where that is lower.

        A noun that was seldom trained must also not stand far behind its rivals in what the crop is taken for.
        """
        placed = self._placed(seen)
        logits = self._logits(placed, taken_for, asked.nouns, asked.named)
        familiar = self._logits(placed, taken_for, self.familiar, asked.rivals_named)
        lead = torch.where(asked.is_rare, RARE_LEAD, LEAD) * (logits - _best(familiar, asked.is_rival))
        verdicts = torch.minimum(logits, lead)
        if not asked.is_rare.any():
            return verdicts
        known = taken_for @ torch.cat([self.familiar, self.rare]).T
        behind = TAKEN_LEAD * (taken_for @ asked.nouns.T - _best(known, asked.is_rival))
        return torch.where(asked.is_rare, torch.minimum(verdicts, behind) + RARE_GIVEN, verdicts)

    def _placed(self, seen: Tensor) -> Tensor:
        return F.normalize(self.from_crop(seen), dim=-1)

    def _named(self, nouns: Tensor) -> Tensor:
        return F.normalize(self.from_noun(nouns), dim=-1)

    def _logits(self, placed: Tensor, taken_for: Tensor, nouns: Tensor, named: Tensor) -> Tensor:
        return self.scale.exp() * placed @ named.T + self.likeness * taken_for @ nouns.T + self.bias

    def familiarity(self, nouns: Tensor) -> Tensor:
        """Of nouns (M, E), each in [0, 1] as its likeness (M,) to the nearest well-trained one."""
        if not len(self.familiar):
            return nouns.new_zeros(len(nouns))
        return (nouns @ self.familiar.T).amax(-1).clamp(0.0, 1.0)

    def heard(self, nouns: Tensor) -> Tensor:
        """The nouns (M, E) that it says something on; zeros, as for no noun at all, in place of those it does not."""
        if not len(self.taught):
            return nouns
        return nouns.masked_fill((nouns @ self.taught.T > WELL_KNOWN).any(-1, keepdim=True), 0.0)

    def with_taught(self, nouns: Tensor) -> "SecondLook":
        """The same, but silent on these names (M, E) as well."""
        width, channels = self.from_crop.weight.shape
        taught = len(self.taught) + len(nouns)
        after = SecondLook(channels, nouns.shape[1], width, len(self.familiar), taught, len(self.rare))
        after.load_state_dict({**self.state_dict(), "taught": torch.cat([self.taught, nouns.to(self.taught)])})
        return after.eval()

    def score(self, verdict: Tensor, familiarity: Tensor, sureness: Tensor) -> Tensor:
        """The likelihood (N,) that masks have an IoU of .5 with what is meant, from `measures`; all arguments (N,)."""
        likely: Tensor = self.weights(measures(verdict, familiarity, sureness)).squeeze(-1).sigmoid()
        return likely


def measures(verdict: Tensor, familiarity: Tensor, sureness: Tensor) -> Tensor:
    """What a score weighs (N, 4): the mask's sureness, and the verdict, apart for well-trained nouns and for others.

    `verdict` is the mean logit of the looks so far, 0 where there was none; `sureness` the mean of the mask's top 1 %.
    """
    sure = torch.logit(sureness.clamp(LEAST_SURE, 1 - LEAST_SURE))
    is_trained = (familiarity > WELL_KNOWN).to(verdict.dtype)
    return torch.stack([sure, is_trained * verdict, (1 - is_trained) * familiarity * verdict, is_trained], dim=-1)


def packed(table: Tensor) -> Tensor:
    """A table (M, M) bool as bits (M, M / 8) uint8."""
    rows, columns = table.shape
    eights = F.pad(table, (0, -columns % 8)).reshape(rows, -(-columns // 8), 8)
    bits: Tensor = (eights * _bits(table)).sum(-1)
    return bits.to(torch.uint8)


def unpacked(bits: Tensor) -> Tensor:
    """The table (M, M) bool that was packed."""
    return (bits[..., None] & _bits(bits) > 0).flatten(1)[:, : len(bits)]


def _bits(beside: Tensor) -> Tensor:
    """The values of a byte's eight bits, the highest first."""
    return torch.tensor([1 << place for place in range(7, -1, -1)], dtype=torch.uint8, device=beside.device)


def _best(values: Tensor, is_rival: Tensor) -> Tensor:
    """The largest of values (N, K) among the rivals of each noun, the first K of (M, L); -inf where it has none."""
    count = values.shape[1]
    lowest = values.new_full((len(values), 1, 1), -torch.inf)  # of a noun without rivals, or a table without nouns
    among = values[:, None].masked_fill(~is_rival[:, :count], -torch.inf)
    return torch.cat([lowest.expand(-1, len(is_rival), -1), among], dim=-1).amax(-1)
