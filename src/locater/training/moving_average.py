"""An exponential moving average of the weights."""

import copy

import torch

from locater.model.locater import Locater


class WeightAverage:
    """A copy of the network whose weights follow the trained ones slowly; closely at first, to forget the start."""

    def __init__(self, model: Locater, decay: float) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    def update(self, model: Locater, step: int) -> None:
        """Move towards `model` after its optimiser step number `step`."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.model.parameters()), [p.detach() for p in model.parameters()], share)
        # Running statistics are averages already.
        torch._foreach_copy_(list(self.model.buffers()), list(model.buffers()))
