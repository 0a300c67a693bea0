"""Fine maps for encoders that have none of their own."""

import math

from torch import Tensor, nn

STRIDES = (2, 4, 8)


class EarlyStem(nn.Module):
    """Maps at strides 2, 4 and 8, those finer than the patch size, from `depth` small convolutions each.

    GroupNorm looks at one frame only, so a frame's maps do not depend on what else is in the batch.
    """

    def __init__(self, patch_size: int, channels: tuple[int, int, int] = (16, 24, 32), depth: int = 1) -> None:
        super().__init__()
        self.strides = tuple(stride for stride in STRIDES if stride < patch_size)
        self.channels = channels[: len(self.strides)]
        inputs = (3, *self.channels)
        self.stages = nn.ModuleList(
            nn.Sequential(
                *_convolution(before, after, stride=2),
                *(layer for _ in range(depth - 1) for layer in _convolution(after, after, stride=1)),
            )
            for before, after in zip(inputs, self.channels, strict=False)  # the last map feeds nothing
        )

    def forward(self, pixels: Tensor) -> tuple[Tensor, ...]:
        """The maps of normalised `pixels` (N, 3, S, S'), finest first, each (N, C, ceil(S / stride), ...)."""
        maps: list[Tensor] = []
        for stage in self.stages:
            pixels = stage(pixels)
            maps.append(pixels)
        return tuple(maps)


def _convolution(before: int, after: int, stride: int) -> tuple[nn.Module, ...]:
    return (
        nn.Conv2d(before, after, kernel_size=3, stride=stride, padding=1, bias=False),
        nn.GroupNorm(math.gcd(after, 8), after),
        nn.GELU(),
    )
