"""EfficientNet-lite up to its stride-16 or its stride-32 stage: no squeeze-and-excitation, ReLU6 instead of swish.

After Tan and Le, "EfficientNet" (2019), and the lite variants of its TensorFlow code (Apache-2.0): the stem
is not scaled, neither is the depth of the first and the last stage; channels are rounded to multiples of 8.
"""

import math
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from locater.model.place import PlaceEmbedding
from locater.model.visual.conv_norm import ConvNorm
from locater.model.visual.drop_path import DropPath, rising_rates
from locater.model.visual.encoder import PixelStatistics, VisualEncoder
from locater.model.visual.palette import palette
from locater.model.visual.recogniser import Recogniser
from locater.records import VisualFeatures

Variant = Literal["lite0", "lite1", "lite2"]

# The TensorFlow code of the lite variants feeds (pixel - 127) / 128.
LITE_STATISTICS = PixelStatistics(mean=(127 / 255,) * 3, std=(128 / 255,) * 3)
STEM_CHANNELS = 32


class Stage(NamedTuple):
    """Blocks at one resolution; only the first has the stride."""

    repeats: int
    kernel_size: int
    stride: int
    expansion: int
    channels: int


LITE0_STAGES = (
    Stage(repeats=1, kernel_size=3, stride=1, expansion=1, channels=16),  # stride 2, the stem's
    Stage(repeats=2, kernel_size=3, stride=2, expansion=6, channels=24),  # 4
    Stage(repeats=2, kernel_size=5, stride=2, expansion=6, channels=40),  # 8
    Stage(repeats=3, kernel_size=3, stride=2, expansion=6, channels=80),  # 16
    Stage(repeats=3, kernel_size=5, stride=1, expansion=6, channels=112),  # 16
    Stage(repeats=4, kernel_size=5, stride=2, expansion=6, channels=192),  # 32
    Stage(repeats=1, kernel_size=3, stride=1, expansion=6, channels=320),  # 32
)
SHALLOW_STAGES = 5  # up to stride 16
SCALES: dict[Variant, tuple[float, float]] = {"lite0": (1.0, 1.0), "lite1": (1.0, 1.1), "lite2": (1.1, 1.2)}


def stages_of(variant: Variant) -> tuple[Stage, ...]:
    """The stages of `variant`, scaled in width and depth."""
    width, depth = SCALES[variant]
    first, *others, last = (stage._replace(channels=_scaled_channels(stage.channels, width)) for stage in LITE0_STAGES)
    return (first, *(stage._replace(repeats=math.ceil(depth * stage.repeats)) for stage in others), last)


def _scaled_channels(channels: int, factor: float) -> int:
    """The multiple of 8 nearest to `channels * factor`, never more than a tenth below it."""
    exact = channels * factor
    rounded = max(8, int(exact + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * exact else rounded


class InvertedBottleneck(nn.Module):
    """MBConv without squeeze-and-excitation: widen, convolve each channel, narrow; added to its input when alike."""

    def __init__(
        self, inputs: int, outputs: int, kernel_size: int, stride: int, expansion: int, drop_path: float = 0.0
    ) -> None:
        super().__init__()
        hidden = inputs * expansion
        self.is_residual = stride == 1 and inputs == outputs
        self.expand = nn.Identity() if expansion == 1 else ConvNorm(inputs, hidden)
        self.depthwise = ConvNorm(hidden, hidden, kernel_size, stride, groups=hidden)
        self.project = ConvNorm(hidden, outputs, linear=True)
        self.drop_path = DropPath(drop_path)

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) after the block."""
        result: Tensor = self.project(self.depthwise(self.expand(features)))
        return features + self.drop_path(result) if self.is_residual else result


class DeepProjection(nn.Module):
    """Stride-16 and stride-32 features on the stride-16 grid: each normalised, projected to `width`, then summed.

    The sum of two projections is one projection of both side by side.
    """

    def __init__(self, channels: int, deep_channels: int, width: int) -> None:
        super().__init__()
        self.fine = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, width))
        self.deep = nn.Sequential(nn.LayerNorm(deep_channels), nn.Linear(deep_channels, width))

    def forward(self, fine: Tensor, deep: Tensor) -> Tensor:
        """(N, r * c, D) from `fine` (N, C, r, c) and `deep` (N, C', ceil(r / 2), ceil(c / 2))."""
        coarse = self.deep(rearrange(deep, "n c rows columns -> n rows columns c"))
        coarse = doubled(rearrange(coarse, "n rows columns d -> n d rows columns"), (fine.shape[2], fine.shape[3]))
        patches: Tensor = self.fine(rearrange(fine, "n c rows columns -> n (rows columns) c"))
        return patches + rearrange(coarse, "n d rows columns -> n (rows columns) d")


def doubled(coarse: Tensor, grid: tuple[int, int]) -> Tensor:
    """`coarse` (N, C, ceil(r / 2), ceil(c / 2)) interpolated to `grid` (r, c)."""
    return F.interpolate(coarse, size=grid, mode="bilinear", align_corners=False)


def _fast_format(pixels: Tensor) -> torch.memory_format:
    """The order of numbers in which this network's convolutions are fast: channels last, but for float32 on a GPU.

    There `locater bench fps --preset default` was still in these convolutions after 50 s channels last, and ends in
    half a minute with this; grouped ones are known to be tens of times slower so (pytorch issue 34977).
    """
    is_exact = pixels.is_cuda and pixels.dtype == torch.float32 and not torch.is_autocast_enabled("cuda")
    return torch.contiguous_format if is_exact else torch.channels_last


class EfficientNetLite(VisualEncoder):
    """EfficientNet-lite's stride-16 stage, projected to `width`; its stages at strides 2, 4, 8 are the early maps.

    `deep` adds the stages at stride 32, which know ImageNet's classes best. The 1,280 channels that its classifier
    widens them to are no patch features: probes read no more from them (docs/encoders.md). But the classes that it
    names know far more than a training on few pictures teaches: with a `meaning_width` they are told as `meanings`, and
    each patch's colours after them. The early maps are as the stages leave them, neither normalised nor rectified.
    """

    def __init__(
        self,
        *,
        variant: Variant,
        width: int,
        deep: bool = False,
        meaning_width: int | None = None,
        drop_path: float = 0.0,
        pixels: PixelStatistics = LITE_STATISTICS,
    ) -> None:
        stages = stages_of(variant) if deep else stages_of(variant)[:SHALLOW_STAGES]
        super().__init__(
            patch_size=16,
            width=width,
            pixels=pixels,
            early_channels=tuple(stage.channels for stage in stages[:3]),
            early_strides=(2, 4, 8),
        )
        self.is_deep = deep
        self.stem = ConvNorm(3, STEM_CHANNELS, kernel_size=3, stride=2)
        self.stages = nn.ModuleList()
        rates = iter(rising_rates(drop_path, sum(stage.repeats for stage in stages)))
        channels = STEM_CHANNELS
        for stage in stages:
            blocks = nn.Sequential()
            for index in range(stage.repeats):
                stride = stage.stride if index == 0 else 1
                blocks.append(
                    InvertedBottleneck(
                        channels, stage.channels, stage.kernel_size, stride, stage.expansion, next(rates)
                    )
                )
                channels = stage.channels
            self.stages.append(blocks)
        patch_channels = stages[SHALLOW_STAGES - 1].channels
        # Normalised first: with the pretrained weights these features have a deviation of 6 to 7 and reach 50, where
        # a ViT's end in a LayerNorm.
        self.projection = (
            DeepProjection(patch_channels, channels, width)
            if deep
            else nn.Sequential(nn.LayerNorm(patch_channels), nn.Linear(patch_channels, width))
        )
        self.recogniser = Recogniser(channels, meaning_width) if meaning_width is not None else None
        self.place = PlaceEmbedding(
            width
        )  # a convolution does not say where it looks, and "on the left" must mean something

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), each frame on its own."""
        return self._features(frames, self._maps(frames))

    def look(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """What whole pictures (N, 3, S, S) show: the classifier's features (N, C), its answers as meanings (N, E)."""
        assert self.recogniser is not None
        return self.recogniser.look(self._maps(pictures.unsqueeze(1))[-1])

    def with_look(self, frames: Tensor) -> tuple[VisualFeatures, Tensor, Tensor]:
        """Both, of frames (1, T, 3, S, S') that are seen once."""
        assert self.recogniser is not None
        maps = self._maps(frames)
        return self._features(frames, maps), *self.recogniser.look(maps[-1])

    def _maps(self, frames: Tensor) -> list[Tensor]:
        """Every stage's (B T, C, h, w)."""
        pixels = rearrange(self.normalise(frames), "b t c h w -> (b t) c h w")
        features = self.stem(pixels.contiguous(memory_format=_fast_format(pixels)))  # all that follows keeps it
        maps: list[Tensor] = []
        for stage in self.stages:
            features = stage(features)
            maps.append(features)
        return maps

    def _features(self, frames: Tensor, maps: list[Tensor]) -> VisualFeatures:
        batch = frames.shape[0]
        grid = self.grid(frames)
        features, fine = maps[-1], maps[SHALLOW_STAGES - 1]
        if self.is_deep:
            patches = self.projection(fine, features)
        else:
            patches = self.projection(rearrange(fine, "n c rows columns -> n (rows columns) c"))
        scores = None if self.recogniser is None else self.recogniser.scores(features)
        return VisualFeatures(
            patches=rearrange(patches + self.place(grid).to(patches.dtype), "(b t) p d -> b t p d", b=batch),
            early=tuple(rearrange(fine, "(b t) c h w -> b t c h w", b=batch) for fine in maps[:3]),
            grid=grid,
            meanings=None if scores is None else self._meanings(scores, frames, grid),
            class_scores=scores,
        )

    def _meanings(self, scores: Tensor, frames: Tensor, grid: tuple[int, int]) -> Tensor:
        assert self.recogniser is not None
        taken_for = rearrange(doubled(self.recogniser(scores), grid), "n e r c -> n (r c) e")
        colours = palette(frames.flatten(0, 1), self.patch_size).to(taken_for.dtype)
        return rearrange(torch.cat([taken_for, colours], dim=-1), "(b t) p e -> b t p e", b=len(frames))
