"""A small network that recognises, and a second look for it."""

from collections.abc import Sequence
from pathlib import Path

import torch

from locater.config import preset
from locater.inference.judging import meanings_of
from locater.model.build import build
from locater.model.locater import Locater
from locater.model.second_look import SecondLook
from locater.model.visual.recogniser import WIDENED
from locater.text.table import WordTable

LISTED = ("the", "flamingo", "goldfish", "tench", "car", "red", "grey")


def recognising(folder: Path, listed: Sequence[str] = LISTED) -> Locater:
    """The network; its table has names of few of ImageNet's classes."""
    torch.manual_seed(0)
    WordTable.of_vectors(tuple(listed), torch.randn(len(listed), 12)).save(folder / "words.safetensors")
    text = {"kind": "vectors", "embedding_width": 16, "table": str(folder / "words.safetensors")}
    visual = {"kind": "efficientnet_lite", "deep": True, "recognises": True}
    return build(preset("tiny", {"text": text, "visual": visual}), seed=0)


@torch.no_grad()
def believing(model: Locater, familiar: Sequence[str], believed: str, logit: float) -> SecondLook:
    """A second look that takes everything for `believed`: a logit of about `logit` for it, the opposite for others."""
    names = meanings_of(model, familiar)
    look = SecondLook(WIDENED, names.shape[1], 8, len(familiar))
    look.familiar.copy_(names)
    look.from_crop.weight.zero_()
    look.from_crop.bias.copy_(torch.eye(8)[0])
    first, last = look.from_noun[0], look.from_noun[2]
    assert isinstance(first, torch.nn.Linear) and isinstance(last, torch.nn.Linear)
    for tensor in (first.weight, first.bias, last.weight, last.bias, look.likeness, look.bias):
        tensor.zero_()
    first.weight[0] = 100 * meanings_of(model, [believed])[0]
    first.bias[0] = -60.0
    last.weight[0, 0] = 1.0
    last.bias[0] = -1.0  # far from the believed noun: the opposite direction
    look.scale.fill_(logit).log_()
    look.weights.weight.copy_(torch.tensor([[0.0, 1.0, 0.5, 0.0]]))
    look.weights.bias.zero_()
    return look
