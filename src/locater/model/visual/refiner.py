"""Where a mask ends: MobileSAM, asked for the thing that a first mask marks."""

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

from locater.compute.rows import expand_to_expressions
from locater.compute.upsample import upsample
from locater.model.visual.encoder import IMAGENET_STATISTICS, PixelNorm
from locater.model.visual.tiny_vit import TinyViTTrunk
from locater.model.visual.two_way import CHANNELS, BoxPrompt, ChannelNorm, MaskPrompt, PointPrompt, TwoWayDecoder

PATCH = 16
SUREST = 8.0  # a logit beyond it says no more
# In training the first masks are spoilt: on pictures that were trained on they are better than they will ever be again.
WORST_SPOILT, SPOILT_CELLS = 6.0, 5


class Refiner(nn.Module):
    """Redraws masks along the edges that it sees in the frame.

    It looks at each frame on its own, `enlarged` times as large as the network does, and is prompted with the box
    around a mask and the mask itself; its answer is added to the mask. What the words mean is none of its business: an
    empty mask stays empty, and no refined one is surer than what it was made of.
    """

    def __init__(self, enlarged: float) -> None:
        super().__init__()
        self.enlarged = enlarged
        self.trunk = TinyViTTrunk(deep=True)
        self.neck = nn.Sequential(
            nn.Conv2d(self.trunk.channels, CHANNELS, 1, bias=False),
            ChannelNorm(CHANNELS),
            nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False),
            ChannelNorm(CHANNELS),
        )
        self.box = BoxPrompt()
        self.points = PointPrompt()
        self.mask = MaskPrompt()
        self.decoder = TwoWayDecoder()
        self.pixel_norm = PixelNorm(IMAGENET_STATISTICS)

    def forward(self, frames: Tensor, logits: Tensor) -> Tensor:
        """`logits` (E, T, h, w) redrawn, from frames (C, T, 3, S, S') with E / C expressions each."""
        clips = frames.shape[0]
        image = self.looked_at(frames.flatten(0, 1))  # (C T, D, r, c)
        first = rearrange(logits, "(c e) t h w -> (c t) e h w", c=clips)
        rows = first.flatten(0, 1)
        refined = self.redrawn(expand_to_expressions(image, rows.shape[0]), rows).view(first.shape)
        return rearrange(refined, "(c t) e h w -> (c e) t h w", c=clips)

    def pointed_at(self, image: Tensor, places: Tensor, is_inside: Tensor, box: Tensor | None = None) -> Tensor:
        """Logits (4 r, 4 c) of one thing in an image (1, D, r, c), told by places (A, 2), a box (1, 2, 2), or both.

        Places are x and y as fractions of the longer side. There is no first mask: the answer is the decoder's own.
        """
        rows, columns = image.shape[-2:]
        told = self.box.at(places) + self.points(is_inside)
        prompt = torch.cat([told[None], self.points.no_box[None] if box is None else self.box(box)], dim=1)
        unmarked = image + self.points.no_mask[..., None, None].to(image.dtype)
        answer: Tensor = self.decoder(unmarked, self.box.grid(rows, columns).to(image.dtype), prompt.to(image.dtype))
        return answer[0]

    def looked_at(self, frames: Tensor) -> Tensor:
        """Features (N, D, r, c) of frames (N, 3, S, S')."""
        rows, columns = self.cells(*frames.shape[-2:])
        large = F.interpolate(frames, size=(PATCH * rows, PATCH * columns), mode="bilinear", align_corners=False)
        return self.features(large)

    def redrawn(self, image: Tensor, logits: Tensor) -> Tensor:
        """`logits` (N, h, w), each redrawn in its image (N, D, r, c)."""
        rows, columns = image.shape[-2:]
        first = logits.clamp(-SUREST, SUREST)
        if self.training:
            first = _spoilt(first)
        prompt = self.box(box_around(first > 0)).to(image.dtype)
        marked = self.mask(upsample(first, (4 * rows, 4 * columns)).unsqueeze(1))
        answer = self.decoder(image + marked, self.box.grid(rows, columns).to(image.dtype), prompt)
        redrawn = first + upsample(answer, (first.shape[-2], first.shape[-1]))
        surest = first.amax((-2, -1), keepdim=True)
        return torch.where(surest > 0, torch.minimum(redrawn, surest), first)

    def cells(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of cells in which whole frames are seen that the network sees in so many pixels."""
        rows, columns = (max(1, round(side * self.enlarged / PATCH)) for side in (height, width))
        return rows, columns

    def features(self, pictures: Tensor) -> Tensor:
        """Features (N, D, r, c) of pictures (N, 3, 16 r, 16 c) in [0, 1]."""
        features: Tensor = self.neck(self.trunk(self.pixel_norm(pictures))[-1])
        return features


def box_around(mask: Tensor) -> Tensor:
    """The box (N, 2, 2) around what is true in `mask` (N, h, w), as `BoxPrompt` takes it; specks do not count.

    Where a mask is nothing but specks, around them all; the whole frame where it is empty.
    """
    core = F.avg_pool2d(mask.float().unsqueeze(1), 5, stride=1, padding=2).squeeze(1) > 0.5
    has_core = core.any(-1).any(-1)[:, None, None]
    mask = core | mask & ~has_core
    height, width = mask.shape[-2:]
    edges = []
    for axis, size in ((-2, width), (-1, height)):  # x, then y
        is_in = mask.any(axis).to(torch.uint8)  # (N, size)
        edges.append(torch.stack([is_in.argmax(-1), size - is_in.flip(-1).argmax(-1)], dim=-1))
    return torch.stack(edges, dim=-1) / max(height, width)


def _spoilt(logits: Tensor) -> Tensor:
    """`logits` (N, h, w) with smooth noise on top, some of them much, some little."""
    count, height, width = logits.shape
    noise = torch.randn(count, SPOILT_CELLS, SPOILT_CELLS, device=logits.device, dtype=logits.dtype)
    size = WORST_SPOILT * torch.rand(count, 1, 1, device=logits.device, dtype=logits.dtype)
    return logits + size * upsample(noise, (height, width))
