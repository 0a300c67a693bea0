"""From frames to the network's input, and from its soft masks back to the video's size."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from locater.records import Frame, Pixels

CPU = torch.device("cpu")


def frames_to_tensor(frames: Sequence[Pixels], size: tuple[int, int], device: torch.device = CPU) -> Tensor:
    """Frames resized to `size` (rows, columns), (T, 3, S, S') float32 in [0, 1], on `device`.

    Each frame is resized by itself: in one batch the kernel may sum in another order, and then streamed masks would
    differ in the last bit from those of a whole clip. A GPU resizes what it gets as bytes, and nobody waits for it.
    """
    resized = torch.empty(len(frames), 3, *size, device=device)
    for index, pixels in enumerate(frames):
        for first, values in _planes(pixels, device):
            one = F.interpolate(values[None], size=size, mode="bilinear", align_corners=False, antialias=True)
            # The filter's weights sum to 1 only up to rounding.
            resized[index, first : first + len(values)] = one[0].div_(255).clamp_(0, 1)
    return resized


def _planes(pixels: Pixels, device: torch.device) -> Iterator[tuple[int, Tensor]]:
    """The first channel, and it and perhaps more (C, H, W) float32, on `device`.

    On a CPU one by one: as floats all three of a 4K frame are 100 MB.
    """
    if device.type != "cuda":
        for channel in range(3):
            plane = np.ascontiguousarray(pixels[None, :, :, channel], dtype=np.float32)
            yield channel, torch.from_numpy(plane).to(device)
        return
    pinned = torch.empty(pixels.shape, dtype=torch.uint8, pin_memory=True)
    pinned.numpy()[...] = pixels
    yield 0, pinned.to(device, non_blocking=True).permute(2, 0, 1).float().contiguous()


def frame_times(frames: Sequence[Frame], duration: float | None) -> Tensor:
    """(T, 2): seconds and the fraction of the video gone by; a negative fraction is unknown (a stream)."""
    seconds = np.array([frame.timestamp for frame in frames], dtype=np.float32)
    fraction = np.clip(seconds / duration, 0, 1) if duration else np.full_like(seconds, -1)
    return torch.from_numpy(np.stack([seconds, fraction], axis=-1))


def resize_soft(soft: Tensor, height: int, width: int) -> Tensor:
    """Soft masks (E, h, w) at another size, (E, H, W): the paper's bilinear upsampling."""
    return F.interpolate(soft[None], size=(height, width), mode="bilinear", align_corners=False)[0]
