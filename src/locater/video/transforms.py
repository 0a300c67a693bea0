"""From frames to the network's input, and from its soft masks back to the video's size."""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from locater.records import Frame, Pixels


def frames_to_tensor(frames: Sequence[Pixels], size: tuple[int, int]) -> Tensor:
    """Frames resized to `size` (rows, columns), (T, 3, S, S') float32 in [0, 1].

    Each frame is resized by itself: in one batch the kernel may sum in another order, and then streamed masks would
    differ in the last bit from those of a whole clip.
    """
    resized = torch.empty(len(frames), 3, *size)
    for index, pixels in enumerate(frames):
        values = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1), dtype=np.float32))  # (3, H, W)
        one = F.interpolate(values[None], size=size, mode="bilinear", align_corners=False, antialias=True)
        resized[index] = one[0].div_(255).clamp_(0, 1)  # the filter's weights sum to 1 only up to rounding
    return resized


def frame_times(frames: Sequence[Frame], duration: float | None) -> Tensor:
    """(T, 2): seconds and the fraction of the video gone by; a negative fraction is unknown (a stream)."""
    seconds = np.array([frame.timestamp for frame in frames], dtype=np.float32)
    fraction = np.clip(seconds / duration, 0, 1) if duration else np.full_like(seconds, -1)
    return torch.from_numpy(np.stack([seconds, fraction], axis=-1))


def resize_soft(soft: Tensor, height: int, width: int) -> Tensor:
    """Soft masks (E, h, w) at another size, (E, H, W): the paper's bilinear upsampling."""
    return F.interpolate(soft[None], size=(height, width), mode="bilinear", align_corners=False)[0]
