"""The challenge entry's grounding module (section 5.6): which of several mask sequences is what a sentence means.

The paper says what goes in and out, "four stacked Transformer blocks followed by one MLP layer"; how a mask becomes
tokens it leaves open (docs/deviations.md). Here a candidate is a row of tokens of its own: one to carry the score, one
for each sampled frame with what a frozen network sees under the mask and around it, how much of it the network itself
marks, the pixels there with the mask's own edge, and where it lies, the words, and one for each candidate, so that they
are compared. Nothing depends on the order of the candidates.
"""

from dataclasses import dataclass

import torch
from einops import rearrange, repeat
from torch import Tensor, nn
from torch.nn import functional as F

from locater.config import GroundingConfig
from locater.model.locater import Locater
from locater.model.transformer import EncoderBlock
from locater.records import Words

COARSE = 32  # cells along a side in which masks are measured
LEAST = 1e-3  # cells: less is nothing
SHOWN_SIDE = 128  # pixels: frames are kept no larger, and what is cut out of them needs no more
CROP = 24  # pixels along a side of what is cut out around a mask
MARGIN = 2.3  # of a mask's reach (a disc's is half its radius): how far that goes from its centre
LEAST_REACH = 0.05  # of half a side: a smaller thing is seen with more around it
MEASURES = 12  # numbers that tell where a mask lies, when, and how much the others and the network agree with it


@dataclass(frozen=True)
class Scene:
    """What a frozen network makes of the sampled frames of some sentences' videos; one row a sentence."""

    frames: Tensor  # (B, T, 3, h, w) in [0, 1], of at most SHOWN_SIDE pixels a side
    patches: Tensor  # (B, T, P, D), whatever is said
    fused: Tensor  # V (B, T, P, D)
    marked: Tensor  # (B, T, h, w) in [0, 1]: the network's own soft masks
    words: Tensor  # (B, W, D)
    is_padding: Tensor  # (B, W) bool
    times: Tensor  # (B, T, 2)
    grid: tuple[int, int]

    @classmethod
    def of(cls, backbone: Locater, frames: Tensor, times: Tensor, words: Words) -> "Scene":
        """From frames (C, T, 3, S, S') and their times (C, T, 2), with B / C sentences each, side by side."""
        visual = backbone.visual(frames)
        clip = backbone.fuse(visual, times, words)
        each = len(words.features) // len(frames)
        return cls(
            frames=_shrunk(frames).repeat_interleave(each, 0),
            patches=visual.patches.repeat_interleave(each, 0),
            fused=clip.values,
            marked=backbone.unroll(clip, words, clip).logits.float().sigmoid(),
            words=words.features,
            is_padding=words.is_padding,
            times=times.repeat_interleave(each, 0),
            grid=visual.grid,
        )


class Grounding(nn.Module):
    """Scores candidate masks of sentences, given what a network of `seen_width` sees."""

    def __init__(self, config: GroundingConfig, seen_width: int) -> None:
        super().__init__()
        self.config = config
        width = config.width
        self.seen_norm = nn.LayerNorm(3 * seen_width)
        self.from_seen = nn.Linear(3 * seen_width, width)
        self.from_crop = nn.Sequential(
            nn.Conv2d(4, 16, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(32 * (CROP // 4) ** 2, width),
        )
        self.from_measures = nn.Sequential(nn.Linear(MEASURES, width), nn.GELU(), nn.Linear(width, width))
        # What is seen, what is shown and what is measured count alike from the start: measures are much the smallest.
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.word_norm = nn.LayerNorm(seen_width)
        self.from_word = nn.Linear(seen_width, width)
        self.score_token = nn.Parameter(torch.zeros(width))
        self.types = nn.Parameter(torch.zeros(3, width))  # of frames, words, candidates
        self.blocks = nn.ModuleList(EncoderBlock(width, config.heads) for _ in range(config.blocks))
        self.norm = nn.LayerNorm(width)
        self.score = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))
        nn.init.trunc_normal_(self.types, std=0.02)
        nn.init.trunc_normal_(self.score_token, std=0.02)

    def forward(self, scene: Scene, masks: Tensor, is_missing: Tensor | None = None) -> Tensor:
        """Logits (B, N) of the IoU with what is meant, for candidates (B, N, T, h, w) in [0, 1].

        Frames of which a sentence's candidates are unknown are missing, (B, T) bool, and seen by none.
        """
        batch, count, frames = masks.shape[:3]
        if is_missing is None:
            is_missing = torch.zeros(batch, frames, dtype=torch.bool, device=masks.device)
        placed = _measures(scene, masks)
        seen = self.from_seen(self.seen_norm(_pooled(scene, masks)))
        shown = rearrange(self.from_crop(_cropped(scene, masks, placed)), "(b n t) d -> b n t d", b=batch, n=count)
        branches = seen, shown, self.from_measures(placed)
        own = torch.stack([norm(each) for norm, each in zip(self.norms, branches, strict=True)]).sum(0)
        known = rearrange(~is_missing, "b t -> b 1 t 1").to(own.dtype)
        of_each = (own * known).sum(2) / known.sum(2).clamp(min=1)  # (B, N, d)
        words = self.from_word(self.word_norm(scene.words.float())) + self.types[1]
        tokens = torch.cat(
            [
                repeat(self.score_token, "d -> (b n) 1 d", b=batch, n=count),
                rearrange(own + self.types[0], "b n t d -> (b n) t d"),
                repeat(words, "b w d -> (b n) w d", n=count),
                repeat(of_each + self.types[2], "b m d -> (b n) m d", n=count),
            ],
            dim=1,
        )
        never = is_missing.new_zeros(batch, 1)
        is_padding = torch.cat([never, is_missing, scene.is_padding, never.expand(-1, count)], dim=1)
        is_padding = repeat(is_padding, "b l -> (b n) l", n=count)
        for block in self.blocks:
            tokens = block(tokens, is_padding)
        logits: Tensor = self.score(self.norm(tokens[:, 0]))
        return rearrange(logits, "(b n) 1 -> b n", n=count)


def _shrunk(frames: Tensor) -> Tensor:
    size = [min(side, SHOWN_SIDE) for side in frames.shape[-2:]]
    if size == list(frames.shape[-2:]):
        return frames
    flat = F.interpolate(frames.flatten(0, 1).float(), size=size, mode="bilinear", antialias=True)
    return rearrange(flat, "(c t) k h w -> c t k h w", t=frames.shape[1])


def _pooled(scene: Scene, masks: Tensor) -> Tensor:
    """What is seen under each mask, by itself and with the words in it, and with them around it: (B, N, T, 3 D)."""
    batch, count = masks.shape[:2]
    share = F.adaptive_avg_pool2d(rearrange(masks, "b n t h w -> (b n) t h w").float(), scene.grid)
    around = (F.max_pool2d(share, 3, stride=1, padding=1) - share).clamp(min=0)
    inside, outside = (rearrange(x, "(b n) t r c -> b n t (r c)", b=batch, n=count) for x in (share, around))

    def mean(weights: Tensor, values: Tensor) -> Tensor:
        total = weights.sum(-1, keepdim=True).clamp(min=1e-6)
        return torch.einsum("bntp,btpd->bntd", weights / total, values.float())

    return torch.cat([mean(inside, scene.patches), mean(inside, scene.fused), mean(outside, scene.fused)], dim=-1)


def _cropped(scene: Scene, masks: Tensor, placed: Tensor) -> Tensor:
    """Each mask and the pixels around it, cut out at one size: (B N T, 4, CROP, CROP), nothing beyond the frame."""
    count = masks.shape[1]
    middle, reach = placed[..., (1, 0)], placed[..., (3, 2)].clamp(min=LEAST_REACH)  # (B, N, T, 2), across and down
    steps = torch.linspace(-MARGIN, MARGIN, CROP, device=masks.device)
    across = middle[..., :1] + reach[..., :1] * steps  # (B, N, T, CROP)
    down = middle[..., 1:] + reach[..., 1:] * steps
    places = torch.stack(
        [repeat(across, "b n t c -> b n t r c", r=CROP), repeat(down, "b n t r -> b n t r c", c=CROP)], dim=-1
    )
    of_frames = rearrange(places, "b n t r c two -> (b t) (n r) c two")
    pixels = F.grid_sample(rearrange(scene.frames.float(), "b t k h w -> (b t) k h w"), of_frames, align_corners=False)
    pixels = rearrange(pixels, "(b t) k (n r) c -> (b n t) k r c", b=len(masks), n=count)
    of_masks = rearrange(places, "b n t r c two -> (b n t) r c two")
    under = F.grid_sample(rearrange(masks.float(), "b n t h w -> (b n t) 1 h w"), of_masks, align_corners=False)
    return torch.cat([pixels, under], dim=1) - 0.5


def _measures(scene: Scene, masks: Tensor) -> Tensor:
    """Where each mask lies, how far it reaches, when, and who agrees with it, (B, N, T, MEASURES)."""
    batch = len(masks)
    coarse = F.adaptive_avg_pool2d(rearrange(masks, "b n t h w -> (b n) t h w").float(), COARSE)
    soft = rearrange(coarse, "(b n) t h w -> b n t h w", b=batch)
    height, width = soft.shape[-2:]
    area = soft.sum((-2, -1))
    some = area.clamp(min=1e-6)
    rows, columns = (torch.linspace(-1, 1, size, device=soft.device) for size in (height, width))
    along = (soft.sum(-1), rows), (soft.sum(-2), columns)
    centres = [(weights * places).sum(-1) / some for weights, places in along]
    reaches = [
        ((weights * (places - centre[..., None]) ** 2).sum(-1) / some).clamp(min=0).sqrt()
        for (weights, places), centre in zip(along, centres, strict=True)
    ]
    times = repeat(scene.times, "b t two -> b n t two", n=masks.shape[1])
    told = [*centres, *reaches, (area / (height * width)).sqrt(), (area < LEAST).float(), *_agreement(soft, area)]
    told += _agreement_with_network(soft, area, F.adaptive_avg_pool2d(scene.marked, COARSE)[:, None])
    return torch.stack([*told, times[..., 0] / 10, times[..., 1]], dim=-1)


def _agreement(soft: Tensor, area: Tensor) -> tuple[Tensor, Tensor]:
    """Each candidate's mean and highest IoU with the others, frame by frame, (B, N, T) each."""
    count = soft.shape[1]
    flat = rearrange(soft, "b n t h w -> b t n (h w)")
    shared = rearrange(flat @ flat.transpose(-1, -2), "b t n m -> b n m t")
    union = area[:, :, None] + area[:, None] - shared
    iou = torch.where(union > LEAST, shared / union.clamp(min=LEAST), 1.0)  # two empty masks agree
    itself = torch.eye(count, device=soft.device)[None, :, :, None]
    others = iou * (1 - itself)
    return others.sum(2) / max(1, count - 1), others.amax(2)


def _agreement_with_network(soft: Tensor, area: Tensor, marked: Tensor) -> tuple[Tensor, Tensor]:
    """How much of each candidate the network marks, and how much of what it marks the candidate has, (B, N, T) each."""
    shared = (soft * marked).sum((-2, -1))
    return shared / area.clamp(min=LEAST), shared / marked.sum((-2, -1)).clamp(min=LEAST)
