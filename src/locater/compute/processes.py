"""What the processes of one training share: means over all of them, and a batch's statistics."""

import os
from typing import Any

import torch
from torch import Tensor, distributed, nn


def process_count() -> int:
    """How many processes train together; 1 where nobody has joined any."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def mean_over_processes(value: Tensor) -> Tensor:
    """The mean of every process's `value`, without a gradient; `value` itself where there is one process."""
    if process_count() == 1:
        return value
    total = value.detach().clone()
    distributed.all_reduce(total)
    return total / process_count()


def is_joined_on_cpu() -> bool:
    """Whether this is one of several processes without a GPU: accelerate joins such only if it is told."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and not torch.cuda.is_available()


class _Sum(torch.autograd.Function):
    """The sum of every process's tensor; what it makes of each of them comes back to all."""

    @staticmethod
    def forward(_: Any, value: Tensor) -> Tensor:
        total = value.clone()
        distributed.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        distributed.all_reduce(total)
        return total


def _summed(value: Tensor) -> Tensor:
    total: Tensor = _Sum.apply(value)  # type: ignore[no-untyped-call]
    return total


class SharedBatchNorm(nn.BatchNorm1d):
    """BatchNorm1d whose statistics in training are those of the whole batch, however many processes share it.

    PyTorch's own SyncBatchNorm needs a GPU.
    """

    def forward(self, x: Tensor) -> Tensor:
        """`x` (N, D), normalised."""
        if not self.training or process_count() == 1:
            return super().forward(x)
        exact = x.double()  # as PyTorch sums them: where a mean is large beside its deviation, float's rounding shows
        total, count = _summed(torch.stack([exact.sum(0), exact.new_full((x.shape[1],), len(x))]))
        mean = total / count
        # Around the mean, in a second round: a difference of large squares would lose what is small.
        variance = (_summed((exact - mean).square().sum(0)) / count).to(x.dtype)
        mean, count = mean.to(x.dtype), count.to(x.dtype)
        self._remember(mean.detach(), variance.detach() * (count / (count - 1)))
        normalised: Tensor = (x - mean) * (variance + self.eps).rsqrt()
        return torch.addcmul(self.bias, normalised, self.weight) if self.affine else normalised

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        assert self.running_mean is not None and self.running_var is not None and self.momentum is not None
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance, self.momentum)
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
