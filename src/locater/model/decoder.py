"""The referring decoder: the frame-specific query (Eq. 9, 10) and the mask readout (Eq. 11)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

from locater.compute.rows import expand_to_expressions
from locater.compute.upsample import upsample
from locater.model.memory import summary
from locater.records import FramePrediction, Words

Readout = Literal["product", "cosine", "encoder_only"]


class QueryEmbedding(nn.Module):
    """q_t: the words, weighted by what the frame and the memories hold (`visual`) or by the words alone (`text`)."""

    def __init__(self, width: int, kind: Literal["visual", "text"]) -> None:
        super().__init__()
        self.kind = kind
        context_width = 3 * width if kind == "visual" else width
        self.from_context = nn.Linear(context_width, width, bias=False)  # W_1
        self.from_words = nn.Linear(width, width, bias=False)  # W_2
        # Attention logits of order one at the start; Eq. 10 has no 1/sqrt(D), and a saturated softmax learns slowly.
        for layer in (self.from_context, self.from_words):
            nn.init.normal_(layer.weight, std=(context_width * width**2) ** -0.25)

    def ask(self, values: Tensor, global_cells: Tensor, words: Words) -> "Question":
        """All of a chunk's queries, V (B, T, P, D), that needs no local memory."""
        keys = self.from_words(words.features)  # (B, W, D)
        from_local = None
        if self.kind == "visual":
            # W_1 z is a sum of three parts (Eq. 9), and so are the logits.
            of_values, of_global, of_local = self.from_context.weight.chunk(3, dim=1)
            context = F.linear(values.mean(2), of_values) + F.linear(summary(global_cells), of_global).unsqueeze(1)
            from_local = keys @ of_local
        else:
            is_word = (~words.is_padding).unsqueeze(-1).to(words.features.dtype)
            sentence = (words.features * is_word).sum(1) / is_word.sum(1)
            context = self.from_context(sentence).unsqueeze(1).expand(-1, values.shape[1], -1)
        logits = torch.einsum("btd,bwd->btw", context, keys)
        return Question(logits.masked_fill(words.is_padding.unsqueeze(1), -torch.inf), from_local)


@dataclass(frozen=True)
class Question:
    """A chunk's word attention before its softmax, as far as the local memory plays no part in it."""

    logits: Tensor  # (B, T, W), minus infinity on padding
    from_local: Tensor | None  # (B, W, D): what the local memory's summary adds; None where it is not looked at

    def at(self, t: int, local_cells: Tensor) -> Tensor:
        """The logits (B, W) of the t-th frame (Eq. 10)."""
        if self.from_local is None:
            return self.logits[:, t]
        return self.logits[:, t] + torch.einsum("bd,bwd->bw", summary(local_cells), self.from_local)


class PatchReadout(nn.Module):
    """A logit per patch: `product` is Eq. 11, `cosine` its normalised twin, `encoder_only` an MLP that ignores q_t."""

    def __init__(self, width: int, kind: Readout) -> None:
        super().__init__()
        self.kind = kind
        if kind == "encoder_only":
            self.head = nn.Sequential(nn.Linear(width, width // 2), nn.GELU(), nn.Linear(width // 2, 1))
        if kind == "cosine":
            self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))  # sigmoid of a bare cosine never passes .73

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """(B, P) from G_t (B, P, D) and q_t (B, D)."""
        if self.kind == "encoder_only":
            return self.head(context).squeeze(-1)  # type: ignore[no-any-return]
        if self.kind == "cosine":
            cosine = torch.einsum("bpd,bd->bp", F.normalize(context, dim=-1), F.normalize(query, dim=-1))
            return self.log_scale.exp() * cosine
        return torch.einsum("bpd,bd->bp", context, query)  # Eq. 11, before its sigmoid


class FineUpsampler(nn.Module):
    """A crisper mask than the paper's bilinear one: climbs the encoder's early maps to their finest stride."""

    def __init__(self, width: int, fine_width: int, early_channels: Sequence[int]) -> None:
        super().__init__()
        self.from_context = nn.Linear(width, fine_width)
        self.from_match = nn.Linear(width, fine_width)
        self.coarse_gain = nn.Parameter(torch.tensor(width**-0.5))  # a product logit grows with sqrt(D)
        # Pretrained encoders leave their early maps at any scale.
        self.early_norms = nn.ModuleList(nn.GroupNorm(1, channels) for channels in reversed(early_channels))
        self.stages = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(fine_width + channels, fine_width, 3, padding=1),
                nn.GroupNorm(1, fine_width),
                nn.GELU(),
                nn.Conv2d(fine_width, fine_width, 3, padding=1),
                nn.GELU(),
            )
            for channels in reversed(early_channels)
        )
        self.out = nn.Conv2d(fine_width, 1, 3, padding=1)

    def prepare(self, early: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """What each stage's first convolution makes of its early map, (N, C, h, w) each, coarsest first.

        It needs neither memory nor words, so it is done for all frames at once, and once for all expressions.
        """
        width = self.from_context.out_features
        prepared = []
        for (first, *_), norm, fine in zip(self._layers(), self.early_norms, reversed(early), strict=True):
            # PyTorch's GroupNorm crashes in the backward pass of a frozen encoder's maps that have their channels last.
            prepared.append(F.conv2d(norm(fine.contiguous()), first.weight[:, width:], first.bias, padding=1))
        return tuple(prepared)

    def forward(self, context: Tensor, query: Tensor, coarse: Tensor, prepared: Sequence[Tensor]) -> Tensor:
        """Logits (B, h, w) at the finest early map's size, from G_t (B, P, D), q_t, coarse logits and `prepare`."""
        match = context * query.unsqueeze(1)
        x = self.from_context(context) + self.from_match(match)  # (B, P, C)
        x = rearrange(x, "b (r c) d -> b d r c", r=coarse.shape[1])
        for (first, *others), fine in zip(self._layers(), prepared, strict=True):
            x = F.interpolate(x, size=fine.shape[-2:], mode="nearest")  # the convolutions below smooth it
            x = F.conv2d(x, first.weight[:, : x.shape[1]], padding=1) + expand_to_expressions(fine, x.shape[0])
            for layer in others:
                x = layer(x)
        height, width = x.shape[-2:]
        refined: Tensor = self.out(x).squeeze(1) + self.coarse_gain * upsample(coarse, (height, width))
        return refined

    def _layers(self) -> list[list[Any]]:
        """Each stage's layers; the first convolution of a stage takes x and the early map side by side."""
        return [list(stage.children()) for stage in self.stages]


class ReferringDecoder(nn.Module):
    """From the contextualised frame and the memories to a mask's logits."""

    def __init__(self, query: QueryEmbedding, readout: PatchReadout, upsampler: FineUpsampler | None) -> None:
        super().__init__()
        self.query = query
        self.readout = readout
        self.upsampler = upsampler

    def prepare(self, early: Sequence[Tensor], is_fine: bool = True) -> tuple[Tensor, ...]:
        """A chunk's early maps (B or 1, T, C, h, w) as `forward` takes them, of one frame or of all."""
        if self.upsampler is None or not is_fine:
            return ()
        prepared = self.upsampler.prepare([maps.flatten(0, 1) for maps in early])
        return tuple(maps.view(*early[0].shape[:2], *maps.shape[1:]) for maps in prepared)

    def forward(
        self,
        context: Tensor,
        word_logits: Tensor,
        features: Tensor,
        prepared: Sequence[Tensor],
        grid: tuple[int, int],
        is_fine: bool = True,
    ) -> FramePrediction:
        """G_t (B, P, D), the word attention's logits (B, W) and the words (B, W, D) to a mask's logits.

        Not `is_fine`: the patch grid's own, for a stage of training; `prepared` is then empty.
        """
        attention = word_logits.softmax(-1)  # a_t, zero on padding
        query = torch.einsum("bw,bwd->bd", attention, features)  # q_t
        patch_logits = self.readout(context, query)
        logits = rearrange(patch_logits, "b (r c) -> b r c", r=grid[0])
        if self.upsampler is not None and is_fine:
            logits = self.upsampler(context, query, logits, prepared)
        elif self.upsampler is not None:
            logits = self.upsampler.coarse_gain * logits
        return FramePrediction(logits, attention, context, query, patch_logits)


def presence(soft_mask: Tensor) -> Tensor:
    """How surely the referent is in the frame, (B,): the mean of the top 1 % of the soft mask (B, h, w)."""
    flat = soft_mask.flatten(1)
    count = math.ceil(flat.shape[1] / 100)
    return flat.topk(count, dim=1).values.mean(1)
