"""Gradient checkpointing: blocks that forget what is inside them and compute it again for the backward pass."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def recompute_blocks(blocks: Iterable[nn.Module]) -> None:
    """Lets each block keep its inputs alone for the backward pass; what it computes stays the same.

    The wrapper is a partial of the block's own bound method, which `copy.deepcopy` binds to the copied block: a closure
    would go on with the weights of the block that was copied.
    """
    for block in blocks:
        block.forward = partial(_recomputed, block.forward)


def _recomputed(compute: Callable[..., Any], *inputs: Any) -> Any:
    if not torch.is_grad_enabled():
        return compute(*inputs)
    return checkpoint(compute, *inputs, use_reentrant=False)
