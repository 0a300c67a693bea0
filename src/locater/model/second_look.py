"""Is what was marked what was said? A second look, at a crop of the video's own pixels around the mask."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HIDDEN = 256
MEASURES = 4
WELL_KNOWN = 0.99  # likeness of a noun to one that was trained often: the same, but for rounding
LEAST_SURE = 1e-3
LEAD = 1.5  # what a lead over rivals weighs; chosen on the development videos


class SecondLook(nn.Module):
    """How well a crop goes with a noun, and how likely a mask is right by this and by how sure the network is of it.

    Patches are recognised one by one, and near kin have much in common: a dog's flank is a cow's. The whole thing in
    one picture tells them apart. Crops and nouns have vectors of one space, learned from many named things, so that a
    noun that was never trained on has a place among those that were. `familiar` are those that were, often: a verdict
    on a noun far from all of them weighs less. `rivals` tells which of them are near kin and never true at once, as a
    horse and a cow: what goes with one much better is not the other. `taught` are names that the network was given
    later, by people whose word goes before this one's: it says nothing on them.
    """

    familiar: Tensor  # (K, E): directions of well-trained nouns
    rivals: Tensor  # (K, K) bool
    taught: Tensor  # (L, E): directions of names that it says nothing on

    def __init__(self, channels: int, meaning_width: int, width: int, familiar: int, taught: int = 0) -> None:
        super().__init__()
        self.from_crop = nn.Linear(channels, width)
        self.from_noun = nn.Sequential(nn.Linear(meaning_width, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, width))
        self.scale = nn.Parameter(torch.tensor(2.3))
        self.likeness = nn.Parameter(torch.tensor(3.0))  # of what ImageNet's classifier takes the crop for
        self.bias = nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("familiar", torch.zeros(familiar, meaning_width))
        self.register_buffer("rivals", torch.zeros(familiar, familiar, dtype=torch.bool))
        self.register_buffer("taught", torch.zeros(taught, meaning_width))
        self.weights = nn.Linear(MEASURES, 1)  # a logistic regression on answers that were not trained on

    def forward(self, seen: Tensor, taken_for: Tensor, nouns: Tensor) -> Tensor:
        """Logits (N, M): of N crops, features (N, C) and likeliest meanings (N, E), going with M nouns (M, E)."""
        crops = F.normalize(self.from_crop(seen), dim=-1)
        named = F.normalize(self.from_noun(nouns), dim=-1)
        return self.scale.exp() * crops @ named.T + self.likeness * taken_for @ nouns.T + self.bias

    def verdicts(self, seen: Tensor, taken_for: Tensor, nouns: Tensor) -> Tensor:
        """`forward`'s logits (N, M), or `LEAD` times the lead over a noun's best rival where that is lower."""
        logits: Tensor = self(seen, taken_for, nouns)
        if not len(self.familiar):
            return logits
        likeness, place = (nouns @ self.familiar.T).max(-1)
        is_rival = self.rivals[place] & (likeness > WELL_KNOWN)[:, None]  # (M, K)
        of_rivals: Tensor = self(seen, taken_for, self.familiar)  # (N, K)
        best = of_rivals[:, None].masked_fill(~is_rival, -torch.inf).amax(-1)
        return torch.minimum(logits, LEAD * (logits - best))

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
        after = SecondLook(channels, nouns.shape[1], width, len(self.familiar), len(self.taught) + len(nouns))
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
