"""The network, whole: its parts come in built, and its forward pass reads like the paper's pipeline figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from locater.config import ModelConfig
from locater.model.decoder import ReferringDecoder
from locater.model.fusion import AuxiliaryHeads, Concatenation, CrossModalityEncoder
from locater.model.memory import LocalGlobalMemory
from locater.model.rows import a_row_each
from locater.model.text import TextEncoder
from locater.model.visual.encoder import VisualEncoder
from locater.records import FramePrediction, Tokens, VideoState, VisualFeatures, Words


@dataclass(frozen=True)
class FrameFeatures:
    """One frame, ready for `step`: everything of it that needs no memory."""

    values: Tensor  # V_t (B, P, D)
    stamped: Tensor  # V_t with its time and place on it (B, P, D)
    projected: Tensor  # W_v v of the local write (B, P, D)
    early: tuple[Tensor, ...]  # (B or 1, C, h, w) each
    grid: tuple[int, int]


@dataclass(frozen=True)
class ClipFeatures:
    """A chunk of frames, fused with the words."""

    values: Tensor  # V (B, T, P, D)
    stamped: Tensor  # (B, T, P, D)
    projected: Tensor  # (B, T, P, D)
    early: tuple[Tensor, ...]  # (B or 1, T, C, h, w) each
    grid: tuple[int, int]
    modules: tuple[Tensor, ...]  # every fusion module's output, (B, T, P, D) each

    def frame(self, t: int) -> FrameFeatures:
        """The chunk's t-th frame."""
        return FrameFeatures(
            values=self.values[:, t],
            stamped=self.stamped[:, t],
            projected=self.projected[:, t],
            early=tuple(maps[:, t] for maps in self.early),
            grid=self.grid,
        )


@dataclass(frozen=True)
class ClipPrediction:
    """What training sees of a clip."""

    logits: Tensor  # (B, T, h, w)
    auxiliary: Tensor | None  # (K, B, T, rows, columns): the fusion modules' own masks, for deep supervision
    doings: Tensor | None  # (B, T, rows, columns, C): what the object there does, where a head tells it
    word_attention: Tensor  # (B, T, W)
    state: VideoState


class Locater(nn.Module):
    """LOCATER (fig:pipe). It holds weights and no video's state; `step` is the one place where time passes."""

    def __init__(
        self,
        config: ModelConfig,  # kept for whoever saves or feeds the network; nothing below reads it
        visual: VisualEncoder,
        text: TextEncoder,
        fusion: CrossModalityEncoder | Concatenation,
        auxiliary: AuxiliaryHeads | None,
        memory: LocalGlobalMemory,
        decoder: ReferringDecoder,
        doings: nn.Module | None,
    ) -> None:
        super().__init__()
        self.config = config
        self.visual = visual
        self.text = text
        self.fusion = fusion
        self.auxiliary = auxiliary
        self.memory = memory
        self.decoder = decoder
        self.doings = doings  # training alone asks it

    def forward(
        self,
        frames: Tensor,
        times: Tensor,
        global_frames: Tensor,
        global_times: Tensor,
        tokens: Tokens,
    ) -> ClipPrediction:
        """The masks of clips (B, T, 3, S, S), as many expressions of each, by the same `step` that inference runs.

        Without global frames (T' = 0) the clip's own are written to the global memory, each encoded once.
        """
        words = self.text(tokens)  # E_w
        state = self.start(words)
        clip = self.fuse(self.visual(frames), times, words)  # E_v, E_vw
        if state.global_cells.shape[1]:
            has_own = global_frames.shape[1] > 0
            sampled = self.fuse(self.visual(global_frames), global_times, words) if has_own else clip
            state = self.remember(sampled.stamped, state)  # M^g
        predictions = []
        for t in range(frames.shape[1]):
            prediction, state = self.step(clip.frame(t), words, state)  # M^l, decoder
            predictions.append(prediction)
        doings = None
        if self.doings is not None and self.training:
            contexts = torch.stack([prediction.context for prediction in predictions], dim=1)
            doings = self.doings(contexts).unflatten(2, clip.grid)
        return ClipPrediction(
            logits=torch.stack([prediction.logits for prediction in predictions], dim=1),
            auxiliary=None if self.auxiliary is None else self.auxiliary(list(clip.modules)).unflatten(-1, clip.grid),
            doings=doings,
            word_attention=torch.stack([prediction.word_attention for prediction in predictions], dim=1),
            state=state,
        )

    def read(self, expressions: Sequence[str]) -> Tokens:
        """Sentences as tokens, on the network's device."""
        return self.text.tokenize(expressions).to(self.memory.local_start.device)

    def start(self, words: Words) -> VideoState:
        """The state before any frame: the learned first cells, one set an expression."""
        global_cells, local_cells = self.memory.start(len(words.expressions))
        return VideoState(global_cells, local_cells, 0, False, words.expressions)

    def fuse(self, visual: VisualFeatures, times: Tensor, words: Words) -> ClipFeatures:
        """Visual features of a chunk (one set for all expressions, or one each) with the words fused in (Eq. 3, 4)."""
        batch = words.features.shape[0]
        modules = self.fusion(a_row_each(visual.patches, batch), words)
        values = modules[-1]
        stamped = self.memory.stamp(values, a_row_each(times, batch), visual.grid)
        return ClipFeatures(
            values=values,
            stamped=stamped,
            projected=self.memory.project_local(stamped),
            early=visual.early,
            grid=visual.grid,
            modules=tuple(modules),
        )

    def remember(self, stamped: Tensor, state: VideoState) -> VideoState:
        """The state with sampled frames, stamped (B, T', P, D), written into its global memory (Eq. 5)."""
        return replace(state, global_cells=self.memory.write_global(stamped, state.global_cells))

    def step(self, frame: FrameFeatures, words: Words, state: VideoState) -> tuple[FramePrediction, VideoState]:
        """One frame's mask and the state after it: read (Eq. 7, 8), decode (Eq. 9 to 11), write (Eq. 6)."""
        context = self.memory.read(frame.values, frame.stamped, state.global_cells, state.local_cells)
        prediction: FramePrediction = self.decoder(
            frame.values, context, state.global_cells, state.local_cells, words, frame.early, frame.grid
        )
        soft_mask = prediction.logits.sigmoid()
        local_cells = self.memory.write_local(frame.projected, soft_mask, frame.grid, state.local_cells)
        return prediction, replace(state, local_cells=local_cells, frame_index=state.frame_index + 1)
