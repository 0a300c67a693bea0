"""Batch normalisation for pretrained encoders."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class FixedBatchNorm(nn.Module):
    """Batch normalisation by the pretrained statistics, in training too.

    A batch here is a few clips of similar frames; its own statistics would corrupt the running ones and would make a
    frame's features depend on its batch-mates. Weight and bias are learned as usual.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w), normalised."""
        return F.batch_norm(
            features, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=self.eps
        )
