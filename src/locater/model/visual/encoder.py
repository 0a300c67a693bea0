"""What every visual encoder offers, whether it sees frames one by one or in windows."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from locater.records import VisualFeatures


class PixelStatistics(NamedTuple):
    """Mean and deviation of each RGB channel, for pixels in [0, 1], that an encoder's weights were trained with."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


# Google's ViTs (JAX, and so timm's augreg and transformers' google/vit) map pixels to [-1, 1].
HALF_STATISTICS = PixelStatistics(mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
IMAGENET_STATISTICS = PixelStatistics(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))


class PixelNorm(nn.Module):
    """Pixels as weights expect them that were trained with such statistics."""

    mean: Tensor
    std: Tensor

    def __init__(self, pixels: PixelStatistics) -> None:
        super().__init__()
        # Not persistent: they belong to the kind of network, not to what it learned.
        self.register_buffer("mean", torch.tensor(pixels.mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(pixels.std).view(3, 1, 1), persistent=False)

    def forward(self, frames: Tensor) -> Tensor:
        """`frames` (..., 3, h, w) in [0, 1], normalised, in the statistics' own precision."""
        return ((frames - self.mean) / self.std).to(self.mean.dtype)


class VisualEncoder(nn.Module, ABC):
    """Frames to patch features; normalisation happens inside, so that no caller can forget it.

    `window` is how many frames are seen together: 1 for encoders of single images, 16 for Video-Swin-T and I3D.
    Windows are counted from the first frame of a call, so a caller that streams feeds whole windows, aligned to
    multiples of `window`; only a video's last one may be shorter, and the encoder itself copes with that. There is
    always one map per frame.
    """

    window: int  # frames seen together
    patch_size: int  # pixels per side of one output cell: the stride of `patches`
    width: int  # D of `patches`
    early_channels: tuple[int, ...]  # of the early maps, finest first; may be empty
    early_strides: tuple[int, ...]  # likewise; a map has ceil(side / stride) cells along a side

    def __init__(
        self,
        *,
        patch_size: int,
        width: int,
        pixels: PixelStatistics,
        early_channels: tuple[int, ...] = (),
        early_strides: tuple[int, ...] = (),
        window: int = 1,
    ) -> None:
        super().__init__()
        if len(early_channels) != len(early_strides):
            raise ValueError(f"{len(early_channels)} early channels for {len(early_strides)} early strides")
        self.window = window
        self.patch_size = patch_size
        self.width = width
        self.early_channels = early_channels
        self.early_strides = early_strides
        self.pixel_norm = PixelNorm(pixels)

    @abstractmethod
    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), float in [0, 1], sides multiples of `patch_size`."""

    def normalise(self, frames: Tensor) -> Tensor:
        """Frames as the weights expect them, in the weights' own precision."""
        if frames.ndim != 5 or frames.shape[2] != 3 or not frames.is_floating_point():
            raise ValueError(
                f"frames must be float of shape (B, T, 3, S, S'), not {frames.dtype} of {tuple(frames.shape)}"
            )
        normalised: Tensor = self.pixel_norm(frames)
        return normalised

    def grid(self, frames: Tensor) -> tuple[int, int]:
        """Rows and columns of patches in `frames` (..., S, S')."""
        height, width = frames.shape[-2:]
        if height % self.patch_size or width % self.patch_size:
            raise ValueError(f"frames of {height} x {width} cannot be cut into patches of {self.patch_size}")
        return height // self.patch_size, width // self.patch_size
