"""What each place of a picture is taken for: an ImageNet classifier asked everywhere, its answers as meanings."""

from importlib import resources

import torch
from torch import Tensor, nn

from locater.model.visual.conv_norm import ConvNorm

CLASSES = 1000
UNKNOWN = 0.4  # of the classes, other ones for every frame, in training
WIDENED = 1280  # channels that EfficientNet-lite's classifier reads, whatever the variant


class Recogniser(nn.Module):
    """The convex combination of semantic embeddings (Norouzi et al., 2014), a place at a time.

    Every class has a vector among the words' (first that of its name, then learned), and a place has the mean of them,
    each as likely as the classifier finds it. An unsure place has a short vector, as many directions cancel.

    On pictures like those that it was trained on the classifier is hardly ever wrong. So in training it lacks classes:
    things whose class is missing are taken for the next best, as a rhinoceros, for which there is none, is for an
    elephant, and what reads the answer learns how far to trust it.
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.widen = ConvNorm(channels, WIDENED)
        self.classifier = nn.Linear(WIDENED, CLASSES)
        self.meanings = nn.Linear(CLASSES, width, bias=False)

    def scores(self, deep: Tensor) -> Tensor:
        """The classifier's logits (N, r, c, classes) at every place of the deepest features (N, C, r, c)."""
        scores: Tensor = self.classifier(self.widen(deep).permute(0, 2, 3, 1))
        return scores

    def forward(self, scores: Tensor) -> Tensor:
        """(N, E, r, c) from a classifier's `scores`."""
        if self.training:
            is_unknown = torch.rand(len(scores), 1, 1, CLASSES, device=scores.device) < UNKNOWN
            scores = scores.masked_fill(is_unknown, -torch.inf)
        meanings: Tensor = self.meanings(scores.softmax(-1))
        return meanings.permute(0, 3, 1, 2)

    def look(self, deep: Tensor) -> tuple[Tensor, Tensor]:
        """Of whole pictures, deepest features (N, C, r, c): what the classifier reads, and its answers as meanings."""
        seen = self.widen(deep).mean((-2, -1))
        return seen, self.meanings(self.classifier(seen).softmax(-1))


def class_names() -> list[str]:
    """The names of ImageNet's classes, in the order in which every classifier has them."""
    file = resources.files("locater.model.visual") / "imagenet_classes.txt"
    return file.read_text(encoding="utf-8").splitlines()
