"""What encoders of windows of frames share: how a clip is cut, and how their slower maps become one per frame."""

from abc import abstractmethod

import torch
from einops import rearrange
from torch import Tensor, nn

from locater.compute.upsample import upsample_rows
from locater.model.place import PlaceEmbedding
from locater.model.visual.encoder import PixelStatistics, VisualEncoder
from locater.records import VisualFeatures

WINDOW = 16  # frames, as in the paper's comparison of 3D backbones (section 4.2.1)
STRIDE = 16  # pixels per side of one output cell


class WindowedEncoder(VisualEncoder):
    """The stride-16 stage of a network over windows of 16 frames, projected to `width`, one map per frame.

    Each window is seen alone, so a video of any length costs the memory of one. A last window of fewer frames is filled
    up with copies of its last frame: the picture stands still, and one shape serves every window. In time the network
    has fewer steps than frames; its maps are interpolated between them.
    """

    def __init__(
        self,
        *,
        width: int,
        channels: int,
        pixels: PixelStatistics,
        early_channels: tuple[int, ...] = (),
        early_strides: tuple[int, ...] = (),
    ) -> None:
        super().__init__(
            patch_size=STRIDE,
            width=width,
            pixels=pixels,
            early_channels=early_channels,
            early_strides=early_strides,
            window=WINDOW,
        )
        self.projection = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, width))
        self.place = PlaceEmbedding(width)  # windows and convolutions do not say where they look

    @abstractmethod
    def maps(self, windows: Tensor) -> list[Tensor]:
        """Maps (N, t, rows, columns, C) of normalised windows (N, 3, 16, S, S'): the early ones, then stride 16."""

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), windows counted from the first of them."""
        batch, count = frames.shape[:2]
        grid = self.grid(frames)
        *early, deepest = self.maps(in_windows(self.normalise(frames)))
        patches = rearrange(self.projection(deepest), "n t rows columns d -> n t (rows columns) d")
        patches = patches + self.place(grid).to(patches.dtype)
        return VisualFeatures(
            patches=_one_per_frame(patches, batch, count),
            early=tuple(rearrange(_one_per_frame(maps, batch, count), "b t h w c -> b t c h w") for maps in early),
            grid=grid,
        )


def in_windows(frames: Tensor) -> Tensor:
    """Windows (B N, 3, 16, S, S') of frames (B, T, 3, S, S'); the last frame is repeated to fill the last of them."""
    count = frames.shape[1]
    # By index rather than by padding what is missing: nothing here depends on whether anything is.
    places = torch.arange((count + WINDOW - 1) // WINDOW * WINDOW, device=frames.device).clamp(max=count - 1)
    return rearrange(frames[:, places], "b (n t) c h w -> (b n) c t h w", t=WINDOW)


def _one_per_frame(maps: Tensor, batch: int, count: int) -> Tensor:
    """(B, T, ...) from the maps (B N, t, ...) of windows, interpolated in time."""
    frames = upsample_rows(maps.flatten(2), WINDOW)
    return rearrange(frames, "(b n) t x -> b (n t) x", b=batch)[:, :count].reshape(batch, count, *maps.shape[2:])
