"""SAM's mask decoder: a few tokens and an image look at each other, and one token reads a mask off the image.

After Kirillov et al., "Segment Anything" (2023; Apache-2.0), as far as one mask needs it.
"""

from importlib import resources

import torch
from einops import rearrange
from safetensors.torch import load_file
from torch import Tensor, nn

from locater.model.transformer import attend

CHANNELS = 256  # of the image and of a token
HEADS = 8
HIDDEN = 2048
DEPTH = 2
MASKS = 4  # tokens that SAM can answer with; the first is the one for a prompt that leaves no doubt
NORM_EPS = 1e-6


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels of a map (N, C, h, w)."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=NORM_EPS)

    def forward(self, maps: Tensor) -> Tensor:
        """`maps`, each place normalised on its own."""
        return super().forward(maps.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Look(nn.Module):
    """Attention of some (N, A, C) to others (N, B, C), inside in `inner` channels."""

    def __init__(self, inner: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(CHANNELS, inner) for _ in range(3))
        self.out = nn.Linear(inner, CHANNELS)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """What `query` finds, (N, A, C)."""
        found: Tensor = self.out(attend(self.query(query), self.key(key), self.value(value), HEADS))
        return found


class TwoWayBlock(nn.Module):
    """Tokens look at each other and at the image, then the image at the tokens."""

    def __init__(self, is_first: bool) -> None:
        super().__init__()
        self.is_first = is_first  # whose tokens are still what they stand for: nothing is added to them
        self.among = Look(CHANNELS)
        self.at_image = Look(CHANNELS // 2)
        self.mlp = nn.Sequential(nn.Linear(CHANNELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CHANNELS))
        self.at_tokens = Look(CHANNELS // 2)
        self.norms = nn.ModuleList(nn.LayerNorm(CHANNELS) for _ in range(4))

    def forward(self, tokens: Tensor, image: Tensor, stands_for: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens (N, A, C) and image (N, P, C) after it; `stands_for` and `places` say what and where each is."""
        if self.is_first:
            tokens = self.among(tokens, tokens, tokens)
        else:
            named = tokens + stands_for
            tokens = tokens + self.among(named, named, tokens)
        tokens = self.norms[0](tokens)
        tokens = self.norms[1](tokens + self.at_image(tokens + stands_for, image + places, image))
        tokens = self.norms[2](tokens + self.mlp(tokens))
        image = self.norms[3](image + self.at_tokens(image + places, tokens + stands_for, tokens))
        return tokens, image


class TwoWayDecoder(nn.Module):
    """A mask from an image's features and what a prompt says."""

    def __init__(self) -> None:
        super().__init__()
        self.quality_token = nn.Parameter(torch.zeros(1, CHANNELS))  # unread here, but the others look at it
        self.mask_tokens = nn.Parameter(torch.zeros(MASKS, CHANNELS))
        self.blocks = nn.ModuleList(TwoWayBlock(index == 0) for index in range(DEPTH))
        self.last_look = Look(CHANNELS // 2)
        self.last_norm = nn.LayerNorm(CHANNELS)
        self.enlarge = nn.Sequential(
            nn.ConvTranspose2d(CHANNELS, CHANNELS // 4, 2, stride=2),
            ChannelNorm(CHANNELS // 4),
            nn.GELU(),
            nn.ConvTranspose2d(CHANNELS // 4, CHANNELS // 8, 2, stride=2),
            nn.GELU(),
        )
        self.read_off = nn.Sequential(
            nn.Linear(CHANNELS, CHANNELS),
            nn.ReLU(),
            nn.Linear(CHANNELS, CHANNELS),
            nn.ReLU(),
            nn.Linear(CHANNELS, CHANNELS // 8),
        )

    def forward(self, image: Tensor, places: Tensor, prompts: Tensor) -> Tensor:
        """Logits (N, 4 r, 4 c) from an image (N, C, r, c), where its cells are (r c, C), and prompts (N, A, C)."""
        rows = image.shape[-2]
        own = torch.cat([self.quality_token, self.mask_tokens])
        stands_for = torch.cat([own.expand(prompts.shape[0], -1, -1), prompts], dim=1)
        tokens, cells = stands_for, rearrange(image, "n c rows columns -> n (rows columns) c")
        for block in self.blocks:
            tokens, cells = block(tokens, cells, stands_for, places)
        tokens = self.last_norm(tokens + self.last_look(tokens + stands_for, cells + places, cells))
        fine = self.enlarge(rearrange(cells, "n (rows columns) c -> n c rows columns", rows=rows))
        reader = self.read_off(tokens[:, 1])
        return torch.einsum("nc,nchw->nhw", reader, fine)


class BoxPrompt(nn.Module):
    """A box as two tokens, and places, all by the same random waves."""

    waves: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("waves", torch.randn(2, CHANNELS // 2))  # a part of the pretrained weights
        self.first_corner = nn.Parameter(torch.zeros(1, CHANNELS))  # left and top
        self.last_corner = nn.Parameter(torch.zeros(1, CHANNELS))

    def forward(self, boxes: Tensor) -> Tensor:
        """(N, 2, C) from boxes (N, 2, 2): left and top, right and bottom, as fractions of the longer side."""
        return self.at(boxes) + torch.cat([self.first_corner, self.last_corner])

    def grid(self, rows: int, columns: int) -> Tensor:
        """Where cells are, (rows columns, C)."""
        y, x = (torch.arange(n, device=self.waves.device) + 0.5 for n in (rows, columns))
        places = torch.stack(torch.meshgrid(x, y, indexing="xy"), dim=-1) / max(rows, columns)
        return self.at(places.flatten(0, 1))

    def at(self, places: Tensor) -> Tensor:
        """(..., C) of places (..., 2), x and y as fractions of the longer side, in the waves' own precision."""
        angles = 2 * torch.pi * ((2 * places.to(self.waves.dtype) - 1) @ self.waves)
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class PointPrompt(nn.Module):
    """What SAM adds to a place that is inside or outside the thing.

    A refiner begins as MobileSAM and its training never sees a point, so checkpoints have none of this: it comes with
    the package (`python -m tools.points` made it), and is no part of a network's state.
    """

    outside: Tensor  # (1, C), as are the others
    inside: Tensor
    no_box: Tensor  # stands where a box would
    no_mask: Tensor  # is added to every cell where a mask would be

    def __init__(self) -> None:
        super().__init__()
        tensors = load_file(str(resources.files("locater.model.visual") / "points.safetensors"))
        for name in ("outside", "inside", "no_box", "no_mask"):
            self.register_buffer(name, tensors[name].float(), persistent=False)

    def forward(self, is_inside: Tensor) -> Tensor:
        """(A, C) from (A,) bool."""
        return torch.where(is_inside[:, None], self.inside, self.outside)


class MaskPrompt(nn.Sequential):
    """A mask's logits (N, 1, 4 r, 4 c) as something to add to an image's features, (N, C, r, c)."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 4, 2, stride=2),
            ChannelNorm(4),
            nn.GELU(),
            nn.Conv2d(4, 16, 2, stride=2),
            ChannelNorm(16),
            nn.GELU(),
            nn.Conv2d(16, CHANNELS, 1),
        )
