"""What a benchmark is request for, and the precision it computes in."""

from dataclasses import dataclass

import torch

from locater.compute.precision import Precision, dtype_of


@dataclass(frozen=True)
class BenchRequest:
    """One call of `locater bench`."""

    device: torch.device
    precision: Precision
    preset: str = "paper"
    checkpoint: str | None = None  # each benchmark has its own network where none is named
    data: str | None = None  # NAME[:ROOT] of what is asked, instead of a benchmark's own
    size: tuple[int, int] | None = None  # a video's width and height, instead of a benchmark's own
    stage: int | None = None  # of a preset's training, from 1; None: the last
    repeats: int = 10
    is_quick: bool = False  # sizes that a CPU does in a second: tries the program, measures nothing
    frames: int = 100_000  # of the soak
    users: int = 20  # of the load
    is_compiled: bool = True  # torch.compile is tried too, where there is a CUDA device

    @property
    def dtype(self) -> torch.dtype:
        """The precision as PyTorch names it."""
        return dtype_of(self.precision)

    @property
    def is_cuda(self) -> bool:
        """Whether CUDA graphs and the allocator's own numbers are to be had."""
        return self.device.type == "cuda"

    @property
    def trained(self) -> str:
        """The checkpoint of a benchmark that needs a trained network."""
        return self.checkpoint or "shapes"
