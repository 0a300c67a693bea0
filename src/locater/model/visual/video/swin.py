"""Video-Swin up to its stride-16 stage: attention in windows of 8 x 7 x 7 cells, shifted in every other block.

After Liu et al., "Video Swin Transformer" (2022).
"""

import math

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor, nn

from locater.model.visual.encoder import IMAGENET_STATISTICS
from locater.model.visual.video.windowed import WindowedEncoder

Sides = tuple[int, int, int]  # in time, rows and columns

CELL: Sides = (2, 4, 4)  # frames and pixels of one cell of the first stage
ATTENDED: Sides = (8, 7, 7)  # cells that look at each other
STAGES = 3  # of Swin's four: the last has stride 32
EXPANSION = 4


def fitted(sides: Sides, is_shifted: bool) -> tuple[Sides, Sides]:
    """Window and shift for a map of such sides: no longer than the map, and unshifted where one window spans it."""
    window, shift = [], []
    for side, usual in zip(sides, ATTENDED, strict=True):
        is_spanned = side <= usual
        window.append(side if is_spanned else usual)
        shift.append(0 if is_spanned or not is_shifted else usual // 2)
    return (window[0], window[1], window[2]), (shift[0], shift[1], shift[2])


class WindowAttention(nn.Module):
    """Attention among the cells of each window, with a learned number for every offset between two of them."""

    places: Tensor

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)
        self.offsets = nn.Parameter(torch.zeros(math.prod(2 * side - 1 for side in ATTENDED), heads))
        nn.init.trunc_normal_(self.offsets, std=0.02)
        cells = torch.cartesian_prod(*(torch.arange(side) for side in ATTENDED))
        away = cells[:, None] - cells[None] + torch.tensor([side - 1 for side in ATTENDED])  # all from 0 on
        spans = torch.tensor([(2 * ATTENDED[1] - 1) * (2 * ATTENDED[2] - 1), 2 * ATTENDED[2] - 1, 1])
        self.register_buffer("places", (away * spans).sum(-1), persistent=False)

    def forward(self, windows: Tensor, is_apart: Tensor | None) -> Tensor:
        """`windows` (B, n, p, C), mixed over the p cells of each; cells that are apart (n, p, p) see nothing."""
        batch, count, cells = windows.shape[:3]
        # The first rows of the table, also of a window that is narrower than usual, where they stand for other offsets:
        # so does the network that the weights come from.
        bias = rearrange(self.offsets[self.places[:cells, :cells]], "q k heads -> 1 heads q k")
        if is_apart is not None:
            bias = repeat(
                bias.masked_fill(is_apart.unsqueeze(1), -torch.inf), "n heads q k -> (b n) heads q k", b=batch
            )
        q, k, v = rearrange(
            self.qkv(windows), "b n p (three heads d) -> three (b n) heads p d", three=3, heads=self.heads
        )
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))
        result: Tensor = self.out(rearrange(mixed, "(b n) heads p d -> b n p (heads d)", n=count))
        return result


class SwinBlock(nn.Module):
    """Attention in windows, then an MLP, each normalised first."""

    def __init__(self, channels: int, heads: int, is_shifted: bool) -> None:
        super().__init__()
        self.is_shifted = is_shifted
        self.norm1 = nn.LayerNorm(channels)
        self.attention = WindowAttention(channels, heads)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = nn.Sequential(
            nn.Linear(channels, EXPANSION * channels), nn.GELU(), nn.Linear(EXPANSION * channels, channels)
        )
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, cells: Tensor) -> Tensor:
        """`cells` (B, t, rows, columns, C) after the block."""
        cells = cells + self._attended(self.norm1(cells))
        result: Tensor = cells + self.mlp(self.norm2(cells))
        return result

    def _attended(self, cells: Tensor) -> Tensor:
        sides = (cells.shape[1], cells.shape[2], cells.shape[3])
        window, shift = fitted(sides, self.is_shifted)
        missing = [-side % span for side, span in zip(sides, window, strict=True)]
        padded = F.pad(cells, (0, 0, 0, missing[2], 0, missing[1], 0, missing[0]))
        is_apart = None
        if any(shift):
            padded = padded.roll([-each for each in shift], dims=(1, 2, 3))
            is_apart = apart(padded.shape[1:4], window, shift, cells.device)
        spans = dict(zip(("wt", "wr", "wc"), window, strict=True))
        windows = rearrange(padded, "b (t wt) (r wr) (c wc) d -> b (t r c) (wt wr wc) d", **spans)
        counts = {name: side // span for name, side, span in zip("trc", padded.shape[1:4], window, strict=True)}
        mixed: Tensor = rearrange(
            self.attention(windows, is_apart),
            "b (t r c) (wt wr wc) d -> b (t wt) (r wr) (c wc) d",
            **counts,
            **spans,
        )
        if any(shift):
            mixed = mixed.roll(shift, dims=(1, 2, 3))
        return mixed[:, : sides[0], : sides[1], : sides[2]]


def apart(sides: torch.Size, window: Sides, shift: Sides, device: torch.device) -> Tensor:
    """Which cells of a window (n, p, p) came together only because the map was rolled around its edges."""
    regions = torch.zeros((), dtype=torch.long, device=device)
    for axis, (side, span, by) in enumerate(zip(sides, window, shift, strict=True)):
        place = torch.arange(side, device=device)
        # Three regions along an axis: before the last window, in it, and what was rolled into it.
        region = (place >= side - span).long() + (place >= side - by).long() * bool(by)
        regions = regions * 3 + region.view([-1 if other == axis else 1 for other in range(3)])
    spans = dict(zip(("wt", "wr", "wc"), window, strict=True))
    labels = rearrange(regions, "(t wt) (r wr) (c wc) -> (t r c) (wt wr wc)", **spans)
    return labels.unsqueeze(1) != labels.unsqueeze(2)


class Merging(nn.Module):
    """Four neighbouring cells as one, of twice the channels; an odd side is padded with zeros."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels)
        self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)

    def forward(self, cells: Tensor) -> Tensor:
        """(B, t, ceil(rows / 2), ceil(columns / 2), 2 C) from (B, t, rows, columns, C)."""
        padded = F.pad(cells, (0, 0, 0, cells.shape[3] % 2, 0, cells.shape[2] % 2))
        # Columns before rows: the order in which the weights expect the four.
        four = rearrange(padded, "b t (r two_r) (c two_c) d -> b t r c (two_c two_r d)", two_r=2, two_c=2)
        merged: Tensor = self.reduction(self.norm(four))
        return merged


class VideoSwin(WindowedEncoder):
    """Video-Swin's stride-16 stage; early maps, where asked for, are those of its first two stages (4, 8)."""

    def __init__(
        self,
        *,
        width: int,
        channels: int = 96,
        depths: tuple[int, int, int] = (2, 2, 6),
        heads: tuple[int, int, int] = (3, 6, 12),
        has_early: bool = False,
    ) -> None:
        super().__init__(
            width=width,
            channels=4 * channels,
            pixels=IMAGENET_STATISTICS,
            early_channels=(channels, 2 * channels) if has_early else (),
            early_strides=(4, 8) if has_early else (),
        )
        self.embedding = nn.Conv3d(3, channels, kernel_size=CELL, stride=CELL)
        self.norm = nn.LayerNorm(channels)
        self.stages = nn.ModuleList(
            nn.Sequential(*(SwinBlock(channels * 2**stage, heads[stage], block % 2 == 1) for block in range(depth)))
            for stage, depth in enumerate(depths)
        )
        self.mergings = nn.ModuleList(Merging(channels * 2**stage) for stage in range(STAGES - 1))

    def maps(self, windows: Tensor) -> list[Tensor]:
        """Maps (N, 8, rows, columns, C) of normalised windows (N, 3, 16, S, S')."""
        cells = self.norm(rearrange(self.embedding(windows), "n c t h w -> n t h w c"))
        found = []
        for place, stage in enumerate(self.stages):
            cells = stage(cells if place == 0 else self.mergings[place - 1](cells))
            found.append(cells)
        return found if self.early_channels else found[-1:]
