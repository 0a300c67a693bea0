"""What a benchmark is asked for, and the precision it computes in."""

from dataclasses import dataclass

import torch

from locater.errors import LocaterError
from locater.inference.segmenter import PRECISIONS, Precision


@dataclass(frozen=True)
class Asked:
    """One call of `locater bench`."""

    device: torch.device
    precision: Precision
    preset: str = "paper"
    checkpoint: str = "shapes"
    repeats: int = 10
    is_quick: bool = False  # sizes that a CPU does in a second: tries the program, measures nothing
    is_compiled: bool = True  # torch.compile is tried too, where there is a CUDA device

    @property
    def dtype(self) -> torch.dtype:
        """The precision as PyTorch names it."""
        dtype: torch.dtype = getattr(torch, self.precision)
        return dtype

    @property
    def is_cuda(self) -> bool:
        """Whether CUDA graphs and the allocator's own numbers are to be had."""
        return self.device.type == "cuda"


def find_device(name: str | None) -> torch.device:
    """The device of that name, or the best there is; one sentence where it cannot be used."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError) as error:  # the latter: torch is built without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        raise LocaterError(f"The device '{name}' cannot be used: {reason}; choose cpu, cuda or cuda:1.") from None
    return device


def find_precision(name: str | None, device: torch.device) -> Precision:
    """The precision of that name; without one bfloat16 on a GPU and float32 elsewhere."""
    chosen = name or ("bfloat16" if device.type == "cuda" else "float32")
    for known in PRECISIONS:
        if known == chosen:
            if known == "float16" and device.type == "cpu":
                raise LocaterError("float16 needs a GPU; on the CPU choose bfloat16 or float32.")
            return known
    raise LocaterError(f"There is no precision '{chosen}'; choose one of {', '.join(PRECISIONS)}.")
