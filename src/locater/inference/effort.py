"""How much work is put into a mask: the quality that a person asks for, as what the network does."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch

from locater.errors import LocaterError

Quality = Literal["fast", "default", "best"]
QUALITIES: tuple[Quality, ...] = get_args(Quality)
# Patches of the crop in which a mask is redrawn, at most: of a frame of 16:9 `default`'s refiner sees 880. The scores
# of more and of fewer: dev/LOG.md, 2026-11-18.
DEFAULT_CELLS, FAST_CELLS = 400, 200
FAST_SCALE = 0.8  # of the size in which frames are seen


@dataclass(frozen=True)
class Effort:
    """What a network does for each frame; everything there is to do, unless told otherwise."""

    scale: float = 1.0  # of the network's own input size
    refined_cells: int | None = None  # patches that its refiner sees of a mask's surroundings; None: of whole frames
    is_by_frame: bool = False  # frames are encoded one by one: what does not leave a CPU's caches is done sooner


def effort_of(quality: Quality, device: torch.device) -> Effort:
    """What is done for a quality on a device.

    On a GPU whole frames are refined whatever the quality, as part of a CUDA graph: where a crop lies is known only
    when its mask is, so that crops would be launched op by op and each would wait for the GPU.
    """
    if quality not in QUALITIES:
        raise LocaterError(f"There is no quality '{quality}'; choose one of {', '.join(QUALITIES)}.")
    if quality == "best":
        return Effort()
    is_fast = quality == "fast"
    scale = FAST_SCALE if is_fast else 1.0
    if device.type == "cuda":
        return Effort(scale)
    return Effort(scale, FAST_CELLS if is_fast else DEFAULT_CELLS, is_by_frame=True)
