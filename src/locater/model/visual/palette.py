"""Which colours the pixels of each patch have, by their words."""

import torch.nn.functional as F
from torch import Tensor

from locater.text.colour_names import colour_shares

_COARSER = 2  # pixels per side of what is looked at: a patch's colour needs no more


def palette(frames: Tensor, patch_size: int) -> Tensor:
    """(N, P, C): the share of each of `COLOUR_WORDS` in each patch of `frames` (N, 3, S, S') in [0, 1], row by row.

    A network trained on ImageNet's classes has hardly any colour left where it knows what things are.
    """
    pixels = F.avg_pool2d(frames, _COARSER).movedim(1, -1)  # (N, S / 2, S' / 2, 3)
    shares = colour_shares(pixels).movedim(-1, 1)
    return F.avg_pool2d(shares, patch_size // _COARSER).flatten(2).transpose(1, 2)
