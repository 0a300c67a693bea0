"""Which device computes."""

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
