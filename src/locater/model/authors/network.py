"""Their network, in the shape of ours: visual encoder, fusion and decoder, and the one place where time passes."""

import math
from dataclasses import replace
from itertools import pairwise

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

from locater.config import ModelConfig
from locater.model.authors.memory import HEADS, AuthorsMemory, mlp
from locater.model.locater import ClipFeatures, Locater
from locater.model.text import TextEncoder
from locater.model.transformer import EncoderBlock
from locater.model.visual.vit import VisionTransformer
from locater.records import FramePrediction, VideoState, VisualFeatures, Words

NORM_EPS = 1e-5  # of PyTorch; the visual encoder has timm's
DEPTH = 2  # blocks over patches and words, and as many over the patches


class AuthorsViT(VisionTransformer):
    """The first blocks of a ViT with a tanh layer behind them; the class token stays, as the first patch."""

    def __init__(self, *, image_size: int, patch_size: int, depth: int, heads: int, width: int) -> None:
        super().__init__(
            image_size=image_size, patch_size=patch_size, inner_width=width, depth=depth, heads=heads, width=width
        )
        self.representation = nn.Linear(width, width)

    def forward(self, frames: Tensor) -> VisualFeatures:
        """Features of `frames` (B, T, 3, S, S'), (B, T, 1 + P, D), each frame on its own."""
        tokens = self.representation(self.tokens(frames)[0]).tanh()
        return VisualFeatures(rearrange(tokens, "(b t) p d -> b t p d", b=frames.shape[0]), (), self.grid(frames))


class AuthorsFusionModule(nn.Module):
    """Two blocks over patches and words, two over the patches; one norm after either pair."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.joint, self.refine = (
            nn.ModuleList(EncoderBlock(width, heads, "pre", NORM_EPS) for _ in range(DEPTH)) for _ in range(2)
        )
        self.norm = nn.LayerNorm(width)
        self.visual_type = nn.Parameter(torch.randn(width) * 0.02)
        self.word_type = nn.Parameter(torch.randn(width) * 0.02)

    def joined(self, patches: Tensor, words: Tensor) -> Tensor:
        """Patches and words side by side, each with its type."""
        return torch.cat([patches + self.visual_type, words + self.word_type], dim=1)

    def forward(self, patches: Tensor, words: Tensor) -> Tensor:
        """(B, 1 + P, D) from (B, 1 + P, D) and words (B, W, D)."""
        tokens = self.joined(patches, words)
        for block in self.joint:
            tokens = block(tokens)
        kept = self.norm(tokens)[:, : patches.shape[1]]
        for block in self.refine:
            kept = block(kept)
        refined: Tensor = self.norm(kept)
        return refined


class AuthorsFusion(nn.Module):
    """K such modules; the words are fed afresh to each, and the class token goes along as far as the last."""

    def __init__(self, width: int, modules: int, heads: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(AuthorsFusionModule(width, heads) for _ in range(modules))

    def forward(self, patches: Tensor, words: Words) -> list[Tensor]:
        """Every module's output without the class token, each (B, T, P, D); the last is V."""
        x, text = self._rows(patches, words)
        outputs = []
        for step in self.steps:
            x = step(x, text)
            outputs.append(rearrange(x[:, 1:], "(b t) p d -> b t p d", b=patches.shape[0]))
        return outputs

    def word_attention(self, patches: Tensor, words: Words) -> Tensor:
        """How much each patch looks at each word in the first block, (B, T, P, W)."""
        first = self.steps[0]
        assert isinstance(first, AuthorsFusionModule)
        x, text = self._rows(patches, words)
        block = first.joint[0]
        assert isinstance(block, EncoderBlock)
        looks = block.weights_on_last(first.joined(x, text), text.shape[1])[:, 1:]
        return rearrange(looks, "(b t) p w -> b t p w", b=patches.shape[0])

    def _rows(self, patches: Tensor, words: Words) -> tuple[Tensor, Tensor]:
        frames = patches.shape[1]
        return patches.flatten(0, 1), words.features.repeat_interleave(frames, dim=0)


class AuthorsHeads(nn.Module):
    """Their auxiliary readouts: a hidden layer with batch normalisation for each fusion module."""

    def __init__(self, width: int, modules: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, 1))
            for _ in range(modules)
        )

    def forward(self, outputs: list[Tensor]) -> Tensor:
        """Logits (K, B, T, P)."""
        found = [head(x.flatten(0, 2)).view(x.shape[:3]) for head, x in zip(self.heads, outputs, strict=True)]
        return torch.stack(found)


class AuthorsDecoder(nn.Module):
    """Eight queries from the words, 64 product maps beside the features, and five convolutions with x2 upsampling."""

    def __init__(self, width: int, patch_size: int) -> None:
        super().__init__()
        self.from_context = mlp(3 * width, 4 * width, width)
        self.from_words = mlp(width, 4 * width, width)
        self.values = mlp(width, 4 * width, width)
        self.norm = nn.LayerNorm(width)
        self.of_patch = nn.Linear(width, width)
        self.of_query = nn.Linear(width, width)
        channels = width + HEADS * HEADS
        narrow = channels // 4
        climbs = int(math.log2(patch_size))
        sizes = [channels, *[narrow] * climbs, 1]
        self.convolutions = nn.ModuleList(
            nn.Conv2d(inputs, outputs, 3, padding=1) for inputs, outputs in pairwise(sizes)
        )

    def ask(self, summary: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
        """The queries (B, 8, D) and their word attention (B, 8, W), from (B, 3 D) and words (B, W, D)."""
        looking = rearrange(self.from_context(summary), "b (h d) -> b h d 1", h=HEADS)
        keys = rearrange(self.from_words(words), "b w (h d) -> b h w d", h=HEADS)
        attention = ((keys @ looking).squeeze(-1) / math.sqrt(keys.shape[-1])).softmax(-1)
        return self.norm(attention @ self.values(words)), attention

    def forward(self, context: Tensor, queries: Tensor, grid: tuple[int, int]) -> Tensor:
        """Logits (B, h, w) from G_t (B, P, D) and the queries."""
        patches, asked = (
            rearrange(x, "b n (h d) -> b h n d", h=HEADS) for x in (self.of_patch(context), self.of_query(queries))
        )
        maps = rearrange(patches @ asked.transpose(-1, -2), "b h p m -> b (h m) p") / math.sqrt(patches.shape[-1])
        x = rearrange(torch.cat([context.transpose(1, 2), maps], dim=1), "b c (r k) -> b c r k", r=grid[0])
        for place, convolution in enumerate(self.convolutions):
            x = convolution(x)
            if place < len(self.convolutions) - 1:
                x = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        return x.squeeze(1)


class AuthorsLocater(Locater):
    """The whole of it; everything around the network (loops, files, scores, training) is that of the paper's."""

    fusion: AuthorsFusion  # type: ignore[assignment]
    auxiliary: AuthorsHeads  # type: ignore[assignment]
    memory: AuthorsMemory  # type: ignore[assignment]
    decoder: AuthorsDecoder  # type: ignore[assignment]

    def __init__(
        self,
        config: ModelConfig,
        visual: AuthorsViT,
        text: TextEncoder,
        fusion: AuthorsFusion,
        auxiliary: AuthorsHeads,
        memory: AuthorsMemory,
        decoder: AuthorsDecoder,
    ) -> None:
        nn.Module.__init__(self)
        self.config = config
        self.visual = visual
        self.text = text
        self.fusion = fusion
        self.auxiliary = auxiliary
        self.memory = memory
        self.decoder = decoder
        self.recognition = self.motion_targets = self.refiner = self.presence = None

    def decode_clip(
        self,
        clip: ClipFeatures,
        words: Words,
        state: VideoState,
        first: int = 0,
        is_fine: bool = True,  # noqa: ARG002
    ) -> tuple[list[FramePrediction], list[VideoState]]:
        """The chunk's masks from frame `first` on, and the state after each."""
        predictions, states = [], []
        for t in range(first, clip.values.shape[1]):
            values = clip.values[:, t]
            cells = state.global_cells, state.local_cells
            queries, attention = self.decoder.ask(self.memory.summary(values, *cells), words.features)
            context = self.memory.read(values, *cells)
            logits = self.decoder(context, queries, clip.grid)
            written = self.memory.write_local(values, logits, clip.grid, state.local_cells)
            state = replace(state, local_cells=written, frame_index=state.frame_index + 1)
            coarse = F.adaptive_avg_pool2d(logits, clip.grid).flatten(1)
            predictions.append(FramePrediction(logits, attention.mean(1), context, queries.mean(1), coarse))
            states.append(state)
        return predictions, states

    def told(self, frame: ClipFeatures, logits: Tensor, before: VideoState, after: VideoState) -> VideoState:
        """The state `after` a frame with masks (B, h, w) that were told, in its local memory for its own."""
        cells = self.memory.write_local(frame.values[:, 0], logits, frame.grid, before.local_cells)
        return replace(after, local_cells=cells)
