"""The first blocks of a Vision Transformer, plain (ViT) or with layer scales (DINOv2)."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from locater.model.transformer import EncoderBlock
from locater.model.visual.early_stem import EarlyStem
from locater.model.visual.encoder import HALF_STATISTICS, PixelStatistics, VisualEncoder
from locater.records import VisualFeatures


class VisionTransformer(VisualEncoder):
    """The first `depth` blocks of a ViT; only patch tokens go on.

    Learned positions belong to the grid of `image_size` and are resampled for any other. The final LayerNorm is
    always applied: at full depth the result is the pretrained network's own, and a cut one has features of even
    scale too. `norm_eps` is 1e-6 in timm's ViTs and in every DINOv2, 1e-12 in transformers' google/vit.
    `inner_width` other than `width` adds a learned projection. `early_stem` adds the early maps; its coarsest one joins
    the patch embedding through weights that start at zero, so that pretrained features stay as they are and a network
    from nothing learns its first edges by convolution, which it does faster (Xiao et al., 2021).
    """

    def __init__(
        self,
        *,
        image_size: int,
        patch_size: int,
        inner_width: int,
        depth: int,
        heads: int,
        width: int,
        layer_scale: bool = False,
        norm_eps: float = 1e-6,
        pixels: PixelStatistics = HALF_STATISTICS,
        early_stem: EarlyStem | None = None,
    ) -> None:
        super().__init__(
            patch_size=patch_size,
            width=width,
            pixels=pixels,
            early_channels=early_stem.channels if early_stem else (),
            early_strides=early_stem.strides if early_stem else (),
        )
        if inner_width % heads:
            raise ValueError(f"width {inner_width} is not a multiple of {heads} heads")
        side = image_size // patch_size
        self.native_grid = (side, side)
        self.patch_embedding = nn.Conv2d(3, inner_width, kernel_size=patch_size, stride=patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, inner_width))
        self.positions = nn.Parameter(torch.zeros(1, 1 + side * side, inner_width))  # the class token's comes first
        self.blocks = nn.ModuleList(
            EncoderBlock(inner_width, heads, "pre", norm_eps, layer_scale) for _ in range(depth)
        )
        self.norm = nn.LayerNorm(inner_width, eps=norm_eps)
        self.projection = nn.Identity() if inner_width == width else nn.Linear(inner_width, width)
        self.early_stem = early_stem
        self.early_embedding = _early_embedding(early_stem, patch_size, inner_width) if early_stem else None
        nn.init.trunc_normal_(self.positions, std=0.02)
        nn.init.trunc_normal_(self.class_token, std=0.02)

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), each frame on its own."""
        batch = frames.shape[0]
        tokens, early = self.tokens(frames)
        return VisualFeatures(
            patches=rearrange(self.projection(tokens[:, 1:]), "(b t) p d -> b t p d", b=batch),
            early=tuple(rearrange(fine, "(b t) c h w -> b t c h w", b=batch) for fine in early),
            grid=self.grid(frames),
        )

    def tokens(self, frames: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The class token and the patches of every frame after the last norm, (B T, 1 + P, D), and the early maps."""
        pixels = rearrange(self.normalise(frames), "b t c h w -> (b t) c h w")
        early: tuple[Tensor, ...] = self.early_stem(pixels) if self.early_stem else ()
        embedded = self.patch_embedding(pixels)
        if self.early_embedding is not None:
            embedded = embedded + self.early_embedding(early[-1])
        tokens = rearrange(embedded, "n d rows columns -> n (rows columns) d")
        tokens = torch.cat([self.class_token.expand(len(tokens), -1, -1), tokens], dim=1)
        tokens = tokens + resample_positions(self.positions, self.native_grid, self.grid(frames))
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens), early


def _early_embedding(stem: EarlyStem, patch_size: int, width: int) -> nn.Conv2d | None:
    """From the stem's coarsest map to the patch grid, starting at zero; None where no map is finer than a patch."""
    if not stem.strides:
        return None
    cells = patch_size // stem.strides[-1]
    if cells * stem.strides[-1] != patch_size:
        return None  # a patch of 14 pixels is not a whole number of cells
    embedding = nn.Conv2d(stem.channels[-1], width, kernel_size=cells, stride=cells, bias=False)
    nn.init.zeros_(embedding.weight)
    return embedding


def resample_positions(positions: Tensor, grid: tuple[int, int], new_grid: tuple[int, int]) -> Tensor:
    """`positions` (1, 1 + rows * columns, D) of `grid`, made to fit `new_grid`; the class token's stays.

    Bicubic without antialiasing, in float32, as transformers resamples them for ViT and DINOv2.
    """
    if grid == new_grid:
        return positions
    rows, columns = grid
    planes = rearrange(positions[:, 1:].float(), "one (r c) d -> one d r c", r=rows, c=columns)
    planes = F.interpolate(planes, size=new_grid, mode="bicubic", align_corners=False)
    resampled = rearrange(planes, "one d r c -> one (r c) d").to(positions.dtype)
    return torch.cat([positions[:, :1], resampled], dim=1)
