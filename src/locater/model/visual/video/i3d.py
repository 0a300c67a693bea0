"""I3D, Inception-v1 with convolutions in time, up to its stride-16 stage.

After Carreira and Zisserman, "Quo Vadis, Action Recognition?" (2017).
"""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from locater.model.visual.conv_norm import NORM_EPS, same_padding
from locater.model.visual.encoder import HALF_STATISTICS
from locater.model.visual.fixed_norm import FixedBatchNorm
from locater.model.visual.video.windowed import WindowedEncoder

Sides = tuple[int, int, int]  # in time, rows and columns

STEM_CHANNELS = (64, 64, 192)
# Channels of an Inception module: 1x1x1; to and of a 3x3x3; to and of the other 3x3x3; after the pooling.
EIGHT = {"3b": (64, 96, 128, 16, 32, 32), "3c": (128, 128, 192, 32, 96, 64)}  # at stride 8
SIXTEEN = {
    "4b": (192, 96, 208, 16, 48, 64),
    "4c": (160, 112, 224, 24, 64, 64),
    "4d": (128, 128, 256, 24, 64, 64),
    "4e": (112, 144, 288, 32, 64, 64),
    "4f": (256, 160, 320, 32, 128, 128),
}


class Unit(nn.Module):
    """A convolution without bias, padded as TensorFlow does it, its normalisation, and ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel_size: int = 1, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv3d(inputs, outputs, kernel_size, stride, bias=False)
        self.norm = FixedBatchNorm(outputs, NORM_EPS)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_in")

    def forward(self, maps: Tensor) -> Tensor:
        """`maps` (N, C, t, h, w) after all three."""
        kernel, stride = self.conv.kernel_size, self.conv.stride
        return F.relu(self.norm(self.conv(_padded(maps, kernel, stride))))


def pooled(maps: Tensor, kernel: Sides, stride: Sides) -> Tensor:
    """The largest of each neighbourhood; the padding's zeros are never larger, as maps come out of ReLUs."""
    return F.max_pool3d(_padded(maps, kernel, stride), kernel, stride)


def _padded(maps: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...]) -> Tensor:
    time, height, width = same_padding(maps.shape[2:], kernel, stride)
    ends = (width // 2, width - width // 2, height // 2, height - height // 2, time // 2, time - time // 2)
    return F.pad(maps, ends) if any(ends) else maps


class Inception(nn.Module):
    """Four looks at the same map, side by side."""

    def __init__(self, inputs: int, channels: tuple[int, ...]) -> None:
        super().__init__()
        single, to_one, one, to_other, other, after_pool = channels
        self.single = Unit(inputs, single)
        self.one = nn.Sequential(Unit(inputs, to_one), Unit(to_one, one, 3))
        self.other = nn.Sequential(Unit(inputs, to_other), Unit(to_other, other, 3))
        self.after_pool = Unit(inputs, after_pool)
        self.channels = single + one + other + after_pool

    def forward(self, maps: Tensor) -> Tensor:
        """(N, C', t, h, w) from (N, C, t, h, w)."""
        largest = pooled(maps, (3, 3, 3), (1, 1, 1))
        return torch.cat([self.single(maps), self.one(maps), self.other(maps), self.after_pool(largest)], dim=1)


class I3D(WindowedEncoder):
    """I3D's stride-16 stage (Mixed_4f); early maps, where asked for, are those at strides 2, 4 and 8.

    `scale` makes every layer narrower, for networks that train from nothing in minutes.
    """

    def __init__(self, *, width: int, scale: float = 1.0, has_early: bool = False) -> None:
        def scaled(channels: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(math.ceil(scale * each) for each in channels)

        first, second, third = scaled(STEM_CHANNELS)
        mixed: dict[str, Inception] = {}
        inputs = third
        for name, channels in (EIGHT | SIXTEEN).items():
            mixed[name] = Inception(inputs, scaled(channels))
            inputs = mixed[name].channels
        super().__init__(
            width=width,
            channels=inputs,
            pixels=HALF_STATISTICS,
            early_channels=(first, third, mixed["3c"].channels) if has_early else (),
            early_strides=(2, 4, 8) if has_early else (),
        )
        self.stem = nn.ModuleList([Unit(3, first, 7, stride=2), Unit(first, second), Unit(second, third, 3)])
        self.mixed = nn.ModuleDict(mixed)

    def maps(self, windows: Tensor) -> list[Tensor]:
        """Maps (N, 8 or 4, rows, columns, C) of normalised windows (N, 3, 16, S, S')."""
        two = self.stem[0](windows)
        four = self.stem[2](self.stem[1](pooled(two, (1, 3, 3), (1, 2, 2))))
        eight = pooled(four, (1, 3, 3), (1, 2, 2))
        for name in EIGHT:
            eight = self.mixed[name](eight)
        sixteen = pooled(eight, (3, 3, 3), (2, 2, 2))
        for name in SIXTEEN:
            sixteen = self.mixed[name](sixteen)
        found = [two, four, eight, sixteen] if self.early_channels else [sixteen]
        return [rearrange(maps, "n c t h w -> n t h w c") for maps in found]
