"""The cross-modality encoder (Eq. 3, 4), the paper's baseline without one, and the auxiliary heads."""

from typing import Literal

import torch
from einops import rearrange, repeat
from torch import Tensor, nn

from locater.compute.processes import SharedBatchNorm
from locater.model.transformer import EncoderBlock
from locater.records import Words


class FusionModule(nn.Module):
    """F_vw^k: one block over patches and words together, one over the patches it keeps."""

    def __init__(self, width: int, heads: int, norm: Literal["pre", "post"]) -> None:
        super().__init__()
        self.joint = EncoderBlock(width, heads, norm)
        self.refine = EncoderBlock(width, heads, norm)
        self.visual_type = nn.Parameter(torch.randn(width) * 0.02)  # eps_v
        self.word_type = nn.Parameter(torch.randn(width) * 0.02)  # eps_w

    def forward(self, patches: Tensor, words: Tensor, is_padding: Tensor | None) -> Tensor:
        """F_2^k (B, P, D) from F_2^(k-1) (B, P, D) and E (B, W, D); `is_padding` is (B, P + W), None for no padding."""
        kept = self.joint(self._tokens(patches, words), is_padding)[:, : patches.shape[1]]  # Eq. 3: words are dropped
        refined: Tensor = self.refine(kept)  # Eq. 4
        return refined

    def word_attention(self, patches: Tensor, words: Tensor, is_padding: Tensor | None) -> Tensor:
        """How much each patch looks at each word in Eq. 3, (B, P, W): what is left of 1 goes to other patches."""
        return self.joint.weights_on_last(self._tokens(patches, words), words.shape[1], is_padding)

    def _tokens(self, patches: Tensor, words: Tensor) -> Tensor:
        return torch.cat([patches + self.visual_type, words + self.word_type], dim=1)  # (B, P + W, D)


class ChannelNorm(nn.Module):
    """Each channel with mean 0 and size 1 over all data, by running statistics at inference.

    The memory sends a patch to the cells most like it, so V must tell patches apart. After a LayerNorm a trained V is
    mostly one vector that all patches of all videos share (experiments/memory_use.py), and all crowd into a few cells.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.statistics = SharedBatchNorm(width, affine=False, momentum=0.02)
        self.is_fixed = False  # True: by the running statistics in training too, where what comes before is frozen

    def forward(self, x: Tensor) -> Tensor:
        """`x` (..., D), normalised."""
        normalised: Tensor = self.statistics(x.flatten(0, -2).float()).view_as(x)
        return normalised.to(x.dtype)

    def train(self, mode: bool = True) -> "ChannelNorm":
        """Itself; what is fixed keeps its statistics."""
        super().train(mode)
        self.statistics.train(mode and not self.is_fixed)
        return self


class CrossModalityEncoder(nn.Module):
    """E_vw: K fusion modules; the words are fed afresh to each."""

    def __init__(self, width: int, modules: int, heads: int, norm: Literal["pre", "post"], centre: bool) -> None:
        super().__init__()
        self.steps = nn.ModuleList(FusionModule(width, heads, norm) for _ in range(modules))
        self.norm: nn.Module = nn.Identity()
        if norm == "pre":  # as after any pre-norm Transformer
            self.norm = ChannelNorm(width) if centre else nn.LayerNorm(width)

    def forward(self, patches: Tensor, words: Words) -> list[Tensor]:
        """Every module's output, each (B, T, P, D); the last is V."""
        x, text, is_padding = self.rows(patches, words)
        outputs = []
        for step in self.steps:
            x = step(x, text, is_padding)
            outputs.append(rearrange(x, "(b t) p d -> b t p d", b=patches.shape[0]))
        return [*outputs[:-1], self.norm(outputs[-1])]

    def word_attention(self, patches: Tensor, words: Words) -> Tensor:
        """How much each patch looks at each word where it first meets them, in the first module: (B, T, P, W).

        Of what the network holds of words this tells best which of them decide (docs/explain.md).
        """
        first = self.steps[0]
        assert isinstance(first, FusionModule)
        return rearrange(first.word_attention(*self.rows(patches, words)), "(b t) p w -> b t p w", b=patches.shape[0])

    def rows(self, patches: Tensor, words: Words) -> tuple[Tensor, Tensor, Tensor | None]:
        """F_2^0 (B T, P, D), the words (B T, W, D), and what of both is padding, (B T, P + W); None for no padding."""
        batch, frames, count, _ = patches.shape
        x = rearrange(patches, "b t p d -> (b t) p d")  # F_2^0 = I_t
        text = repeat(words.features, "b w d -> (b t) w d", t=frames)
        if not words.may_be_padded:  # a mask, even one that leaves nothing out, keeps flash attention away
            return x, text, None
        padded_words = repeat(words.is_padding, "b w -> (b t) w", t=frames)
        return x, text, torch.cat([padded_words.new_zeros(batch * frames, count), padded_words], dim=1)


class Concatenation(nn.Module):
    """The paper's baseline: each patch beside the sentence's mean, one linear map, no attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.Linear(2 * width, width)

    def forward(self, patches: Tensor, words: Words) -> list[Tensor]:
        """[V], V (B, T, P, D)."""
        is_word = (~words.is_padding).unsqueeze(-1).to(words.features.dtype)
        sentence = (words.features * is_word).sum(1) / is_word.sum(1)  # (B, D)
        beside = repeat(sentence, "b d -> b t p d", t=patches.shape[1], p=patches.shape[2])
        return [self.mix(torch.cat([patches, beside], dim=-1))]

    def word_attention(self, patches: Tensor, words: Words) -> None:
        """None: a patch is told the mean of all words, and looks at none."""


class AuxiliaryHeads(nn.Module):
    """The readout layers of deep supervision (section 3.2.3): a small MLP a fusion module."""

    def __init__(self, width: int, modules: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width // 2), nn.GELU(), nn.Linear(width // 2, 1)) for _ in range(modules)
        )

    def forward(self, outputs: list[Tensor]) -> Tensor:
        """Logits (K, B, T, P), the sigmoid left to the loss."""
        return torch.stack([head(x).squeeze(-1) for head, x in zip(self.heads, outputs, strict=True)])
