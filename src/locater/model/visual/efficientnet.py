"""EfficientNet-lite up to its stride-16 stage: no squeeze-and-excitation, ReLU6 instead of swish.

After Tan and Le, "EfficientNet" (2019), and the lite variants of its TensorFlow code (Apache-2.0): the stem is not
scaled, neither is the first stage's depth; channels are rounded to multiples of 8.
"""

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from locater.model.visual.encoder import PixelStatistics, VisualEncoder
from locater.records import VisualFeatures

Variant = Literal["lite0", "lite1", "lite2"]

# The TensorFlow code of the lite variants feeds (pixel - 127) / 128.
LITE_STATISTICS = PixelStatistics(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
STEM_CHANNELS = 32
NORM_EPS = 1e-3  # TensorFlow's, kept by every conversion of its weights


class Stage(NamedTuple):
    """Blocks at one resolution; only the first has the stride."""

    repeats: int
    kernel_size: int
    stride: int
    expansion: int
    channels: int


# The two stages left out (192 and 320 channels) begin at stride 32.
LITE0_STAGES = (
    Stage(repeats=1, kernel_size=3, stride=1, expansion=1, channels=16),  # stride 2, the stem's
    Stage(repeats=2, kernel_size=3, stride=2, expansion=6, channels=24),  # 4
    Stage(repeats=2, kernel_size=5, stride=2, expansion=6, channels=40),  # 8
    Stage(repeats=3, kernel_size=3, stride=2, expansion=6, channels=80),  # 16
    Stage(repeats=3, kernel_size=5, stride=1, expansion=6, channels=112),  # 16
)
SCALES: dict[Variant, tuple[float, float]] = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}


def stages_of(variant: Variant) -> tuple[Stage, ...]:
    """The stages of `variant`, scaled in width and depth."""
    width, depth = SCALES[variant]
    first, *others = (stage._replace(channels=_scaled_channels(stage.channels, width)) for stage in LITE0_STAGES)
    return (first, *(stage._replace(repeats=math.ceil(depth * stage.repeats)) for stage in others))


def _scaled_channels(channels: int, factor: float) -> int:
    """The multiple of 8 nearest to `channels * factor`, never more than a tenth below it."""
    exact = channels * factor
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * exact else rounded


class SameConv2d(nn.Conv2d):
    """A convolution with TensorFlow's SAME padding: ceil(side / stride) cells, the odd pixel of padding at the end."""

    def forward(self, input: Tensor) -> Tensor:
        """`input` (N, C, h, w) convolved."""
        height, width = (
            max((math.ceil(side / stride) - 1) * stride + kernel - side, 0)
            for side, kernel, stride in zip(input.shape[2:], self.kernel_size, self.stride, strict=True)
        )
        if height % 2 or width % 2:
            input = F.pad(input, (width // 2, width - width // 2, height // 2, height - height // 2))
            height = width = 0
        return F.conv2d(input, self.weight, self.bias, self.stride, (height // 2, width // 2), groups=self.groups)


class FixedBatchNorm(nn.Module):
    """Batch normalisation by the pretrained statistics, in training too.

    A batch here is a few clips of similar frames; its own statistics would corrupt the running ones and would make a
    frame's features depend on its batch-mates. Weight and bias are learned as usual.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.register_buffer("running_mean", torch.zeros(channels))
        self.register_buffer("running_var", torch.ones(channels))

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w), normalised."""
        return F.batch_norm(
            features, self.running_mean, self.running_var, self.weight, self.bias, training=False, eps=NORM_EPS
        )


class ConvNorm(nn.Module):
    """A convolution without bias, its normalisation, and ReLU6 unless `linear`."""

    def __init__(
        self, inputs: int, outputs: int, kernel_size: int = 1, stride: int = 1, groups: int = 1, linear: bool = False
    ) -> None:
        super().__init__()
        self.conv = SameConv2d(inputs, outputs, kernel_size, stride, groups=groups, bias=False)
        self.norm = FixedBatchNorm(outputs)
        self.activation = nn.Identity() if linear else nn.ReLU6()
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_in")

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) after all three."""
        result: Tensor = self.activation(self.norm(self.conv(features)))
        return result


class InvertedBottleneck(nn.Module):
    """MBConv without squeeze-and-excitation: widen, convolve each channel, narrow; added to its input when alike."""

    def __init__(self, inputs: int, outputs: int, kernel_size: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.is_residual = stride == 1 and inputs == outputs
        self.expand = nn.Identity() if expansion == 1 else ConvNorm(inputs, hidden)
        self.depthwise = ConvNorm(hidden, hidden, kernel_size, stride, groups=hidden)
        self.project = ConvNorm(hidden, outputs, linear=True)

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) after the block."""
        result: Tensor = self.project(self.depthwise(self.expand(features)))
        return features + result if self.is_residual else result


class EfficientNetLite(VisualEncoder):
    """EfficientNet-lite's stride-16 stage, projected to `width`; its stages at strides 2, 4, 8 are the early maps.

    The early maps are as the stages leave them, neither normalised nor rectified.
    """

    def __init__(self, *, variant: Variant, width: int, pixels: PixelStatistics = LITE_STATISTICS) -> None:
        stages = stages_of(variant)
        super().__init__(
            patch_size=16,
            width=width,
            pixels=pixels,
            early_channels=tuple(stage.channels for stage in stages[:3]),
            early_strides=(2, 4, 8),
        )
        self.stem = ConvNorm(3, STEM_CHANNELS, kernel_size=3, stride=2)
        self.stages = nn.ModuleList()
        channels = STEM_CHANNELS
        for stage in stages:
            blocks = nn.Sequential()
            for index in range(stage.repeats):
                stride = stage.stride if index == 0 else 1
                blocks.append(InvertedBottleneck(channels, stage.channels, stage.kernel_size, stride, stage.expansion))
                channels = stage.channels
            self.stages.append(blocks)
        # Normalised first: with the pretrained weights these features have a deviation of 6 to 7 and reach 50, where
        # a ViT's end in a LayerNorm.
        self.projection = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, width))

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), each frame on its own."""
        batch = frames.shape[0]
        grid = self.grid(frames)
        features = self.stem(rearrange(self.normalise(frames), "b t c h w -> (b t) c h w"))
        maps: list[Tensor] = []
        for stage in self.stages:
            features = stage(features)
            maps.append(features)
        patches = rearrange(features, "(b t) c rows columns -> b t (rows columns) c", b=batch)
        return VisualFeatures(
            patches=self.projection(patches),
            early=tuple(rearrange(fine, "(b t) c h w -> b t c h w", b=batch) for fine in maps[:3]),
            grid=grid,
        )
