"""TinyViT-5M as MobileSAM has it: convolutions, then attention in windows, all at stride 16 or finer.

After Wu et al., "TinyViT" (2022), and Zhang et al., "Faster Segment Anything" (2023; Apache-2.0), whose last stage
keeps stride 16. Nothing but the windows' padding depends on the size of a frame, so any multiple of 16 will do.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from locater.model.place import PlaceEmbedding
from locater.model.transformer import attend_by_products, is_faster_by_products
from locater.model.visual.drop_path import DropPath, rising_rates
from locater.model.visual.encoder import IMAGENET_STATISTICS, PixelStatistics, VisualEncoder
from locater.model.visual.fixed_norm import FixedBatchNorm
from locater.records import VisualFeatures

NORM_EPS = 1e-5
STEM_CHANNELS = 32
EXPANSION = 4


class Stage(NamedTuple):
    """Blocks at one resolution; `stride` is that of the merging before them."""

    depth: int
    channels: int
    stride: int
    heads: int
    window: int


CONV_DEPTH, CONV_CHANNELS = 2, 64  # of the first stage, at stride 4, which is convolutions only
STAGES = (
    Stage(depth=2, channels=128, stride=2, heads=4, window=7),  # stride 8
    Stage(depth=6, channels=160, stride=2, heads=5, window=14),  # 16
    Stage(depth=2, channels=320, stride=1, heads=10, window=7),  # 16
)


def conv_norm(inputs: int, outputs: int, kernel_size: int = 1, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution without bias, and its normalisation."""
    conv = nn.Conv2d(inputs, outputs, kernel_size, stride, padding=kernel_size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, FixedBatchNorm(outputs, NORM_EPS))


class ConvBlock(nn.Module):
    """MBConv: widen, convolve each channel, narrow, added to its input; GELU after the sum too."""

    def __init__(self, channels: int, drop_path: float) -> None:
        super().__init__()
        hidden = EXPANSION * channels
        self.expand = conv_norm(channels, hidden)
        self.depthwise = conv_norm(hidden, hidden, kernel_size=3, groups=hidden)
        self.project = conv_norm(hidden, channels)
        self.drop_path = DropPath(drop_path)

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) after the block."""
        hidden = F.gelu(self.depthwise(F.gelu(self.expand(features))))
        return F.gelu(features + self.drop_path(self.project(hidden)))


class Merging(nn.Module):
    """From one stage's channels and resolution to the next one's."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.expand = conv_norm(inputs, outputs)
        self.depthwise = conv_norm(outputs, outputs, kernel_size=3, stride=stride, groups=outputs)
        self.project = conv_norm(outputs, outputs)

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) as (N, C', ceil(h / stride), ceil(w / stride))."""
        merged: Tensor = self.project(F.gelu(self.depthwise(F.gelu(self.expand(features)))))
        return merged


class WindowAttention(nn.Module):
    """Attention among the cells of one window, with a learned bias for each distance in rows and columns."""

    offsets: Tensor

    def __init__(self, channels: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads = heads
        self.window = window
        self.norm = nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.biases = nn.Parameter(torch.zeros(heads, window**2))  # |rows apart| * window + |columns apart|
        side = torch.arange(window)
        apart = (side[:, None] - side).abs()
        offsets = rearrange(apart, "r s -> r 1 s 1") * window + rearrange(apart, "c d -> 1 c 1 d")
        self.register_buffer("offsets", rearrange(offsets, "r c s d -> (r c) (s d)"), persistent=False)

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, h, w, C), each cell having looked at its window."""
        height, width = features.shape[1:3]
        # Zeros before the norm: they are looked at too, as in the network that the weights come from.
        # Rounded up without a negative number, which ONNX would round towards zero.
        rows, columns = ((side + self.window - 1) // self.window for side in (height, width))
        padded = self._padded(features, rows * self.window, columns * self.window)
        cells = rearrange(padded, "n (r h) (c w) d -> (n r c) (h w) d", r=rows, c=columns)
        # A head's query, key and value lie side by side.
        qkv = rearrange(
            self.qkv(self.norm(cells)), "b p (heads three d) -> three b heads p d", heads=self.heads, three=3
        )
        bias = self.biases[:, self.offsets].to(qkv.dtype).unsqueeze(0)  # of four axes: only such are fused on a CPU
        if is_faster_by_products(qkv[0], qkv[1]):
            mixed = attend_by_products(qkv[0], qkv[1], qkv[2], bias)
        else:
            mixed = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], attn_mask=bias)
        result = self.out(rearrange(mixed, "b heads p d -> b p (heads d)"))
        whole: Tensor = rearrange(result, "(n r c) (h w) d -> n (r h) (c w) d", r=rows, c=columns, h=self.window)
        return whole[:, :height, :width]

    def _padded(self, features: Tensor, rows: int, columns: int) -> Tensor:
        if torch.compiler.is_exporting():  # how much is added would be fixed
            more = self.window - 1
            return F.pad(features, (0, 0, 0, more, 0, more))[:, :rows, :columns]
        return F.pad(features, (0, 0, 0, columns - features.shape[2], 0, rows - features.shape[1]))


class WindowBlock(nn.Module):
    """Attention in windows, a depth-wise convolution across their borders, and an MLP."""

    def __init__(self, channels: int, heads: int, window: int, drop_path: float) -> None:
        super().__init__()
        self.attention = WindowAttention(channels, heads, window)
        self.local = conv_norm(channels, channels, kernel_size=3, groups=channels)
        self.mlp = nn.Sequential(
            nn.LayerNorm(channels),
            nn.Linear(channels, EXPANSION * channels),
            nn.GELU(),
            nn.Linear(EXPANSION * channels, channels),
        )
        self.drop_path = DropPath(drop_path)

    def forward(self, features: Tensor) -> Tensor:
        """`features` (N, C, h, w) after the block."""
        cells = rearrange(features, "n c h w -> n h w c")
        cells = cells + self.drop_path(self.attention(cells))
        cells = rearrange(self.local(rearrange(cells, "n h w c -> n c h w")), "n c h w -> n h w c")
        cells = cells + self.drop_path(self.mlp(cells))
        result: Tensor = rearrange(cells, "n h w c -> n c h w")
        return result


class TinyViTTrunk(nn.Module):
    """TinyViT-5M's own layers, all of which are pretrained; `deep` adds the last stage."""

    def __init__(self, deep: bool, drop_path: float = 0.0) -> None:
        super().__init__()
        self.is_deep = deep
        stages = STAGES if deep else STAGES[:-1]
        rates = iter(rising_rates(drop_path, CONV_DEPTH + sum(stage.depth for stage in stages)))
        self.stem = conv_norm(3, STEM_CHANNELS, kernel_size=3, stride=2)
        self.embedding = conv_norm(STEM_CHANNELS, CONV_CHANNELS, kernel_size=3, stride=2)
        self.convolutions = nn.Sequential(*(ConvBlock(CONV_CHANNELS, next(rates)) for _ in range(CONV_DEPTH)))
        self.mergings = nn.ModuleList()
        self.stages = nn.ModuleList()
        channels = CONV_CHANNELS
        for stage in stages:
            self.mergings.append(Merging(channels, stage.channels, stage.stride))
            channels = stage.channels
            blocks = (WindowBlock(channels, stage.heads, stage.window, next(rates)) for _ in range(stage.depth))
            self.stages.append(nn.Sequential(*blocks))
        self.channels = channels

    def forward(self, pixels: Tensor) -> list[Tensor]:
        """Maps (N, C, h, w) of normalised `pixels` (N, 3, S, S'): the stem's (stride 2), every stage's (4, 8, 16)."""
        if not pixels.is_cuda:  # a fifth faster on a CPU, not timed on a GPU; all that follows keeps it
            pixels = pixels.contiguous(memory_format=torch.channels_last)
        stem = F.gelu(self.stem(pixels))
        features = self.convolutions(self.embedding(stem))
        maps = [stem, features]
        for merging, stage in zip(self.mergings, self.stages, strict=True):
            features = stage(merging(features))
            maps.append(features)
        return maps


class TinyViT(VisualEncoder):
    """TinyViT-5M's features at stride 16, projected to `width`; the early maps are its stem's (2) and stages' (4, 8).

    `deep` adds the last stage, from which MobileSAM's masks are made: it knows less of what things are than the stage
    before it (docs/encoders.md).
    """

    def __init__(
        self,
        *,
        width: int,
        deep: bool = False,
        drop_path: float = 0.0,
        pixels: PixelStatistics = IMAGENET_STATISTICS,
    ) -> None:
        super().__init__(
            patch_size=16,
            width=width,
            pixels=pixels,
            early_channels=(STEM_CHANNELS, CONV_CHANNELS, STAGES[0].channels),
            early_strides=(2, 4, 8),
        )
        self.trunk = TinyViTTrunk(deep, drop_path)
        self.projection = nn.Sequential(nn.LayerNorm(self.trunk.channels), nn.Linear(self.trunk.channels, width))
        self.place = PlaceEmbedding(width)  # windows and convolutions do not say where they look

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), each frame on its own."""
        batch = frames.shape[0]
        grid = self.grid(frames)
        maps = self.trunk(rearrange(self.normalise(frames), "b t c h w -> (b t) c h w"))
        patches = self.projection(rearrange(maps[-1], "n c rows columns -> n (rows columns) c"))
        return VisualFeatures(
            patches=rearrange(patches + self.place(grid).to(patches.dtype), "(b t) p d -> b t p d", b=batch),
            early=tuple(rearrange(fine, "(b t) c h w -> b t c h w", b=batch) for fine in maps[:3]),
            grid=grid,
        )
