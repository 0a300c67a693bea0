"""Whether two ways of computing the same agree, request before either is timed."""

from dataclasses import dataclass

import torch
from torch import Tensor

# How far a result may be from the reference, as a part of the reference's size: what rounding alone does to a
# recurrence over some tens of frames. An EfficientNet with random weights, which nothing normalises, magnifies it most:
# 0.08 in bfloat16, stored or autocast, and 0.124 with a random refiner behind it, at 512 pixels. A wrong formula is off
# by tens of per cent, in float32 too.
TOLERANCES = {torch.float32: 1e-4, torch.float16: 3e-2, torch.bfloat16: 0.15}


@dataclass(frozen=True)
class Check:
    """One comparison."""

    name: str
    difference: float  # of whatever `name` says
    limit: float

    @property
    def holds(self) -> bool:
        """False also for a difference that is not a number."""
        return self.difference <= self.limit

    def __str__(self) -> str:
        verdict = "agrees" if self.holds else "DISAGREES"
        return f"{self.name}: {verdict}, {self.difference:.2g} of {self.limit:.2g} allowed"


def agreement(name: str, reference: Tensor, candidate: Tensor, dtype: torch.dtype = torch.float32) -> Check:
    """How far `candidate` is from `reference`: the size of the difference over the reference's own size."""
    if reference.shape != candidate.shape:
        return Check(f"{name} (shapes {tuple(reference.shape)}, {tuple(candidate.shape)})", float("inf"), 0.0)
    ours, theirs = reference.detach().float(), candidate.detach().float()
    difference = (theirs - ours).norm() / ours.norm().clamp_min(1e-12)
    return Check(name, float(difference), TOLERANCES[dtype])
