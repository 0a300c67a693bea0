"""Stochastic depth (Huang et al., 2016): a regulariser for pretrained encoders tuned on little data."""

import torch
from torch import Tensor, nn


class DropPath(nn.Module):
    """In training a residual branch is left out for a frame with chance `rate`, else scaled to keep its mean."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"a branch cannot be dropped with chance {rate}")
        self.rate = rate

    def forward(self, branch: Tensor) -> Tensor:
        """`branch` (N, ...), some of its frames zero; as it is in evaluation."""
        if not self.training or not self.rate:
            return branch
        is_kept = torch.rand(len(branch), *(1,) * (branch.ndim - 1), device=branch.device) >= self.rate
        return branch * is_kept / (1 - self.rate)


def rising_rates(highest: float, blocks: int) -> list[float]:
    """A chance a block, from 0 at the first to `highest` at the last: early features are shared by all later ones."""
    return [highest * index / max(1, blocks - 1) for index in range(blocks)]
