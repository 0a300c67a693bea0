"""A network in a lower precision: stored once, instead of cast at every call."""

import copy

import torch
from torch import nn

from locater.model.locater import Locater
from locater.model.memory import TimeEmbedding
from locater.model.place import PlaceEmbedding
from locater.model.text import TextEncoder
from locater.model.visual.fixed_norm import FixedBatchNorm
from locater.model.visual.two_way import BoxPrompt, PointPrompt

# Run once per video or cost nothing, and rounding would be felt: seconds and places in sinusoids, running statistics.
_EXACT_PARTS = (TextEncoder, TimeEmbedding, PlaceEmbedding, BoxPrompt, PointPrompt, FixedBatchNorm, nn.BatchNorm1d)


def cast_model(model: Locater, dtype: torch.dtype) -> Locater:
    """A copy of the network that computes in `dtype`; the network itself where that is float32.

    Nothing is cast on the way, so that features between layers are half as large; sums inside LayerNorm, softmax,
    attention and matrix products stay in float32.
    """
    return model if dtype == torch.float32 else cast_in_place(copy.deepcopy(model), dtype)


def cast_in_place(model: Locater, dtype: torch.dtype) -> Locater:
    """The network itself, which computes in `dtype` from now on: without the time that a copy takes."""
    exact = {
        id(tensor)
        for part in model.modules()
        if isinstance(part, _EXACT_PARTS)
        for tensor in (*part.parameters(), *part.buffers())
    }
    for tensor in (*model.parameters(), *model.buffers()):
        if tensor.is_floating_point() and id(tensor) not in exact:
            tensor.data = tensor.data.to(dtype)
    return model
