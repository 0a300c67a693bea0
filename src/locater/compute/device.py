"""Which device computes, and what need not wait for the rest there."""

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch

from locater.errors import LocaterError


def find_device(name: str | None) -> torch.device:
    """The device of that name, or the best there is; one sentence where it cannot be used."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.zeros(1, device=device).item()  # reading it back also refuses `meta`, which computes nothing
    except (RuntimeError, AssertionError) as error:  # the latter: torch is built without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        raise LocaterError(f"The device '{name}' cannot be used: {reason}; choose cpu, cuda or cuda:1.") from None
    return device


def ahead_of_queue(device: torch.device) -> AbstractContextManager[object]:
    """A context whose work a GPU does ahead of what is queued; it must not read what is still being computed."""
    return torch.cuda.stream(_urgent(device)) if device.type == "cuda" else nullcontext()


@cache
def _urgent(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device, priority=-1)  # type: ignore[no-untyped-call]
