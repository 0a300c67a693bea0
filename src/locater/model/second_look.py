"""Is what was marked what was said? A second look, at a crop of the video's own pixels around the mask."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HIDDEN = 256
MEASURES = 4
WELL_KNOWN = 0.99  # likeness of a noun to one that was trained often: the same, but for rounding
LEAST_SURE = 1e-3


class SecondLook(nn.Module):
    """How well a crop goes with a noun, and how likely a mask is right by this and by how sure the network is of it.

    Patches are recognised one by one, and near kin have much in common: a dog's flank is a cow's. The whole thing in
    one picture tells them apart. Crops and nouns have vectors of one space, learned from many named things, so that a
    noun that was never trained on has a place among those that were. `familiar` are those that were, often: a verdict
    on a noun far from all of them weighs less.
    """

    familiar: Tensor  # (K, E): directions of well-trained nouns

    def __init__(self, channels: int, meaning_width: int, width: int, familiar: int) -> None:
        super().__init__()
        self.from_crop = nn.Linear(channels, width)
        self.from_noun = nn.Sequential(nn.Linear(meaning_width, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, width))
        self.scale = nn.Parameter(torch.tensor(2.3))
        self.likeness = nn.Parameter(torch.tensor(3.0))  # of what ImageNet's classifier takes the crop for
        self.bias = nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("familiar", torch.zeros(familiar, meaning_width))
        self.weights = nn.Linear(MEASURES, 1)  # a logistic regression on answers that were not trained on

    def forward(self, seen: Tensor, taken_for: Tensor, nouns: Tensor) -> Tensor:
        """Logits (N, M): of N crops, features (N, C) and likeliest meanings (N, E), going with M nouns (M, E)."""
        crops = F.normalize(self.from_crop(seen), dim=-1)
        named = F.normalize(self.from_noun(nouns), dim=-1)
        return self.scale.exp() * crops @ named.T + self.likeness * taken_for @ nouns.T + self.bias

    def familiarity(self, nouns: Tensor) -> Tensor:
        """Of nouns (M, E), each in [0, 1] as its likeness (M,) to the nearest well-trained one."""
        if not len(self.familiar):
            return nouns.new_zeros(len(nouns))
        return (nouns @ self.familiar.T).amax(-1).clamp(0.0, 1.0)

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
