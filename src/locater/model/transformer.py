"""Attention (Eq. 1) and the Transformer encoder block (Eq. 2)."""

from typing import Literal

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

WIDEST_FUSED_HEAD = 256  # channels, of flash attention
MOST_WRITTEN_OUT = 2**25  # weights of all heads, 64 MB in bfloat16: beyond it a CPU had better not hold them


def attend(query: Tensor, key: Tensor, value: Tensor, heads: int, is_padding: Tensor | None = None) -> Tensor:
    """ATT (Eq. 1), (B, N, D): `query` (B, N, D) looks up `key` and `value` (B, M, D), padded keys (B, M) left out."""
    q, k, v = (rearrange(x, "b n (h d) -> b h n d", h=heads) for x in (query, key, value))
    if is_padding is None and is_faster_by_products(q, k):
        mixed = attend_by_products(q, k, v)
    else:
        allowed = None if is_padding is None else ~is_padding[:, None, None, :]
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
    return rearrange(mixed, "b h n d -> b n (h d)")


def is_faster_by_products(q: Tensor, k: Tensor) -> bool:
    """Whether attention of (B, h, N, d) to (B, h, M, d) is computed sooner by `attend_by_products`.

    Flash attention takes no head as wide as the paper's memory has (one of 768), and what PyTorch falls back to gives
    a frame's few hundred queries to few of a GPU's processors; matrix products use all of them. On a CPU it computes
    bfloat16 in float32; oneDNN's products use the chip's own instructions for it.
    """
    if q.is_cuda:
        return q.shape[-1] > WIDEST_FUSED_HEAD
    return q.dtype == torch.bfloat16 and q.numel() // q.shape[-1] * k.shape[-2] <= MOST_WRITTEN_OUT


def attend_by_products(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
    """Attention (..., N, d) written out; `bias` (..., N, M) is added to its logits."""
    scale: float = q.shape[-1] ** -0.5
    logits = (q * scale) @ k.transpose(-1, -2)
    return (logits if bias is None else logits + bias).softmax(-1) @ v


class SelfAttention(nn.Module):
    """MSA of Eq. 2."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, is_padding: Tensor | None = None) -> Tensor:
        """(B, N, D) mixed over N."""
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        mixed: Tensor = self.out(attend(query, key, value, self.heads, is_padding))
        return mixed

    def weights_on_last(self, x: Tensor, count: int, is_padding: Tensor | None = None) -> Tensor:
        """How much each of the others looks at each of the last `count`, (B, N - count, count), the heads' mean."""
        to_query, to_key, _ = zip(self.qkv.weight.chunk(3), self.qkv.bias.chunk(3), strict=True)
        query = rearrange(F.linear(x[:, :-count], *to_query), "b n (h d) -> h b n d", h=self.heads)
        key = rearrange(F.linear(x, *to_key), "b n (h d) -> h b d n", h=self.heads)
        total = x.new_zeros(x.shape[0], x.shape[1] - count, count)
        for q, k in zip(
            query * query.shape[-1] ** -0.5, key, strict=True
        ):  # one by one: all of them are many megabytes
            logits = q @ k
            if is_padding is not None:
                logits = logits.masked_fill(is_padding.unsqueeze(1), -torch.inf)
            total = total + logits.softmax(-1)[..., -count:]
        return total / self.heads


class LayerScale(nn.Module):
    """A learned gain a channel (DINOv2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """`x` scaled."""
        return x * self.gain


class EncoderBlock(nn.Module):
    """A Transformer encoder block: `post` is Eq. 2 as printed, `pre` is what every pretrained ViT has."""

    def __init__(
        self,
        width: int,
        heads: int,
        norm: Literal["pre", "post"] = "pre",
        norm_eps: float = 1e-6,
        layer_scale: bool = False,
    ) -> None:
        super().__init__()
        self.is_post_norm = norm == "post"
        self.norm1 = nn.LayerNorm(width, eps=norm_eps)
        self.attention = SelfAttention(width, heads)
        self.scale1 = LayerScale(width) if layer_scale else nn.Identity()
        self.norm2 = nn.LayerNorm(width, eps=norm_eps)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale2 = LayerScale(width) if layer_scale else nn.Identity()
        for module in self.modules():
            if isinstance(module, nn.Linear):
                # Xavier rather than a fixed 0.02: nearly the same at width 768, and right for small networks too.
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor, is_padding: Tensor | None = None) -> Tensor:
        """(B, N, D) to (B, N, D); padded tokens (B, N) are seen by none."""
        if self.is_post_norm:
            x = self.norm1(x + self.scale1(self.attention(x, is_padding)))
            return self.norm2(x + self.scale2(self.mlp(x)))  # type: ignore[no-any-return]
        x = x + self.scale1(self.attention(self.norm1(x), is_padding))
        return x + self.scale2(self.mlp(self.norm2(x)))  # type: ignore[no-any-return]

    def weights_on_last(self, x: Tensor, count: int, is_padding: Tensor | None = None) -> Tensor:
        """How much its attention has each of the others look at each of the last `count`, (B, N - count, count)."""
        return self.attention.weights_on_last(x if self.is_post_norm else self.norm1(x), count, is_padding)
