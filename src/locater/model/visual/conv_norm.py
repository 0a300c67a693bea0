"""A convolution as TensorFlow pads it, with its normalisation: what EfficientNet-lite is made of."""

import math
from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from locater.model.visual.fixed_norm import FixedBatchNorm

NORM_EPS = 1e-3  # TensorFlow's, kept by every conversion of its weights


def same_padding(sides: Sequence[int], kernel: Sequence[int], stride: Sequence[int]) -> list[int]:
    """TensorFlow's SAME padding of each side, in all: enough for ceil(side / stride) cells."""
    return [
        max((math.ceil(side / step) - 1) * step + reach - side, 0)
        for side, reach, step in zip(sides, kernel, stride, strict=True)
    ]


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding: ceil(side / stride) cells, the odd pixel of padding at the end."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` (N, C, h, w) convolved."""
        height, width = same_padding(input.shape[2:], self.kernel_size, self.stride)
        if height % 2 or width % 2:
            input = F.pad(input, (width // 2, width - width // 2, height // 2, height - height // 2))
            height = width = 0
        return F.conv2d(input, self.weight, self.bias, self.stride, (height // 2, width // 2), groups=self.groups)


class ConvNorm(nn.Module):
    """A convolution without bias, its normalisation, and ReLU6 unless `linear`."""

    def __init__(
        self, inputs: int, outputs: int, kernel_size: int = 1, stride: int = 1, groups: int = 1, linear: bool = False
    ) -> None:
        super().__init__()
        self.conv = SameConv2d(inputs, outputs, kernel_size, stride, groups=groups, bias=False)
        self.norm = FixedBatchNorm(outputs, NORM_EPS)
        self.activation = nn.Identity() if linear else nn.ReLU6()
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_in")

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) after all three."""
        result: Tensor = self.activation(self.norm(self.conv(features)))
        return result
