"""Which of several processes this one is, as `torchrun` tells it."""

import os
from dataclasses import dataclass

from locater.errors import LocaterError


@dataclass(frozen=True)
class Place:
    """A process among those of one run."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0  # on its own machine

    @property
    def is_first(self) -> bool:
        """Whether it writes the results."""
        return self.rank == 0

    def device(self, wanted: str | None) -> str | None:
        """The device for this process: of plain `cuda`, or of nothing said, its own GPU."""
        import torch

        if self.world_size == 1 or wanted not in (None, "cuda") or not torch.cuda.is_available():
            return wanted
        return f"cuda:{self.local_rank % torch.cuda.device_count()}"


def place_among_processes() -> Place:
    """This process's place; alone unless `torchrun` (or the like) has set RANK and WORLD_SIZE."""
    try:
        rank, world_size, local_rank = (
            int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0))
        )
    except ValueError:
        raise LocaterError("RANK, WORLD_SIZE and LOCAL_RANK must be whole numbers; torchrun sets them.") from None
    if not 0 <= rank < world_size:
        raise LocaterError(f"RANK is {rank} of a WORLD_SIZE of {world_size}; torchrun sets both.")
    return Place(rank, world_size, local_rank)
