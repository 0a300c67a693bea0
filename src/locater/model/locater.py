"""The network, whole: its parts come in built, and its forward pass reads like the paper's pipeline figure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

from locater.compute.pooling import pooled
from locater.compute.rows import expand_to_expressions
from locater.config import ModelConfig
from locater.model.decoder import Question, ReferringDecoder
from locater.model.fusion import AuxiliaryHeads, Concatenation, CrossModalityEncoder
from locater.model.memory import LocalGlobalMemory
from locater.model.presence import PresenceHead
from locater.model.recognition import Recognition
from locater.model.text import TextEncoder
from locater.model.visual.encoder import VisualEncoder
from locater.model.visual.refiner import Refiner
from locater.records import FramePrediction, Tokens, VideoState, VisualFeatures, Words


@dataclass(frozen=True)
class ClipFeatures:
    """A chunk of frames, fused with the words: everything of it that needs no memory."""

    values: Tensor  # V (B, T, P, D)
    positioned: Tensor  # V with its time and place on it (B, T, P, D)
    projected: Tensor  # W_v v of the local write (B, T, P, D)
    early: tuple[Tensor, ...]  # (B or 1, T, C, h, w) each
    grid: tuple[int, int]
    modules: tuple[Tensor, ...]  # every fusion module's output, (B, T, P, D) each
    word_attention: Tensor | None = None  # (B, T, P, W): how much a patch looks at each word, where it was asked for

    def part(self, start: int, stop: int) -> "ClipFeatures":
        """The chunk's frames from `start` up to `stop`."""
        return ClipFeatures(
            values=self.values[:, start:stop],
            positioned=self.positioned[:, start:stop],
            projected=self.projected[:, start:stop],
            early=tuple(maps[:, start:stop] for maps in self.early),
            grid=self.grid,
            modules=tuple(module[:, start:stop] for module in self.modules),
            word_attention=None if self.word_attention is None else self.word_attention[:, start:stop],
        )

    def frame(self, t: int) -> "ClipFeatures":
        """The chunk's t-th frame alone."""
        return self.part(t, t + 1)


@dataclass(frozen=True)
class ClipPrediction:
    """What training sees of a clip."""

    logits: Tensor  # (B, T, h, w)
    auxiliary: Tensor | None  # (K, B, T, rows, columns): the fusion modules' own masks, for deep supervision
    motion_targets: Tensor | None  # (B, T, rows, columns, C): what the object there does, where a head tells it
    query_attention: Tensor  # (B, T, W): Eq. 10
    state: VideoState
    presence: Tensor | None = None  # (B, T): logits of what was said being there, where a head tells it
    class_scores: Tensor | None = None  # (B T, r, c, classes): what the clip's places are taken for, where it is told


class Locater(nn.Module):
    """LOCATER (fig:pipe). It holds weights and no video's state; `decode_clip` is the one place where time passes."""

    def __init__(
        self,
        config: ModelConfig,  # kept for whoever saves or feeds the network; nothing below reads it
        visual: VisualEncoder,
        text: TextEncoder,
        recognition: Recognition | None,
        fusion: CrossModalityEncoder | Concatenation,
        auxiliary: AuxiliaryHeads | None,
        memory: LocalGlobalMemory,
        decoder: ReferringDecoder,
        motion_targets: nn.Module | None,
        refiner: Refiner | None,
        presence: PresenceHead | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.visual = visual
        self.text = text
        self.recognition = recognition
        self.fusion = fusion
        self.auxiliary = auxiliary
        self.memory = memory
        self.decoder = decoder
        self.motion_targets = motion_targets  # training alone asks it
        self.refiner = refiner
        self.presence = presence

    def forward(
        self,
        frames: Tensor,
        times: Tensor,
        global_frames: Tensor,
        global_times: Tensor,
        tokens: Tokens,
        is_fine: bool = True,
        is_refined: bool = True,
    ) -> ClipPrediction:
        """The masks of clips (B, T, 3, S, S), as many expressions of each, by the `decode_clip` that inference runs.

        Without global frames (T' = 0) the clip's own are written to the global memory, each encoded once. Stages of
        training may learn from the patch grid's masks (not `is_fine`), or from those before the refiner.
        """
        words = self.text(tokens)  # E_w
        visual = self.visual(frames)  # E_v
        clip = self.fuse(visual, times, words)  # E_vw
        sampled = clip
        if global_frames.shape[1] and self.memory.global_write is not None:
            sampled = self.fuse(self.visual(global_frames), global_times, words)
        prediction = replace(self.unroll(clip, words, sampled, is_fine), class_scores=visual.class_scores)
        return replace(prediction, logits=self.refined(frames, prediction.logits)) if is_refined else prediction

    def unroll(self, clip: ClipFeatures, words: Words, sampled: ClipFeatures, is_fine: bool = True) -> ClipPrediction:
        """What training sees of fused clips, before any refiner: `sampled` is remembered (M^g), `clip` segmented."""
        state = self.initial_state(words)
        if state.global_cells.shape[1]:
            state = self.write_global(sampled.positioned, state)  # M^g
        predictions, states = self.decode_clip(clip, words, state, is_fine=is_fine)  # M^l, decoder
        motion_targets = None
        if self.motion_targets is not None and self.training:
            contexts = torch.stack([prediction.context for prediction in predictions], dim=1)
            motion_targets = self.motion_targets(contexts).unflatten(2, clip.grid)
        auxiliary = None
        if self.auxiliary is not None and clip.modules:
            auxiliary = self.auxiliary(list(clip.modules)).unflatten(-1, clip.grid)
        # Masks learn by their own truth alone, whatever is believed to be there.
        masks = [prediction.logits if self.training else self.answer(prediction) for prediction in predictions]
        return ClipPrediction(
            logits=torch.stack(masks, dim=1),
            auxiliary=auxiliary,
            motion_targets=motion_targets,
            query_attention=torch.stack([prediction.query_attention for prediction in predictions], dim=1),
            state=states[-1],
            presence=None
            if self.presence is None
            else torch.stack([each.presence for each in predictions if each.presence is not None], dim=1),
        )

    def read(self, expressions: Sequence[str]) -> Tokens:
        """Sentences as tokens, on the network's device."""
        return self.text.tokenize(expressions).to(self.memory.local_start.device)

    def initial_state(self, words: Words) -> VideoState:
        """The state before any frame: the learned first cells, one set per expression."""
        global_cells, local_cells = self.memory.initial_state(len(words.expressions))
        evidence = None if self.presence is None else self.presence.no_evidence(len(words.expressions))
        return VideoState(global_cells, local_cells, 0, False, words.expressions, evidence)

    def fuse(
        self, visual: VisualFeatures, times: Tensor, words: Words, with_word_attention: bool = False
    ) -> ClipFeatures:
        """Visual features of a chunk (one set for all expressions, or one each) with the words fused in (Eq. 3, 4)."""
        batch = words.features.shape[0]
        patches = expand_to_expressions(visual.patches, batch)
        if self.recognition is not None:
            assert visual.meanings is not None
            patches = self.recognition(patches, expand_to_expressions(visual.meanings, batch), words)
        modules = self.fusion(patches, words)
        clip = self.with_positions(
            modules[-1], expand_to_expressions(times, batch), visual.grid, visual.early, tuple(modules)
        )
        return replace(clip, word_attention=self.fusion.word_attention(patches, words)) if with_word_attention else clip

    def with_positions(
        self,
        values: Tensor,
        times: Tensor,
        grid: tuple[int, int],
        early: tuple[Tensor, ...] = (),
        modules: tuple[Tensor, ...] = (),
    ) -> ClipFeatures:
        """V (B, T, P, D) of a chunk and what the memory makes of it before anything is remembered."""
        positioned = self.memory.add_positions(values, times, grid)
        return ClipFeatures(values, positioned, self.memory.project_local(positioned), early, grid, modules)

    def write_global(self, positioned: Tensor, state: VideoState) -> VideoState:
        """The state with sampled frames, positioned (B, T', P, D), written into its global memory (Eq. 5)."""
        return replace(state, global_cells=self.memory.write_global(positioned, state.global_cells))

    def refined(self, frames: Tensor, logits: Tensor) -> Tensor:
        """A chunk's masks (B, T, h, w) along the edges of its frames; as they are where there is no refiner.

        The memory is written with what `decode_clip` gave: what is refined is for people to look at.
        """
        if self.refiner is None:
            return logits
        refined: Tensor = self.refiner(frames, logits)
        return refined

    def step(
        self, frame: ClipFeatures, words: Words, state: VideoState, is_fine: bool = True
    ) -> tuple[FramePrediction, VideoState]:
        """One frame's mask and the state after it: `decode_clip` of a chunk of one."""
        (prediction,), (after,) = self.decode_clip(frame, words, state, is_fine=is_fine)
        return prediction, after

    def decode_clip(
        self, clip: ClipFeatures, words: Words, state: VideoState, first: int = 0, is_fine: bool = True
    ) -> tuple[list[FramePrediction], list[VideoState]]:
        """The chunk's masks from frame `first` on, and the state after each: read (Eq. 7, 8), decode, write (Eq. 6).

        What needs no local memory is computed for all frames at once, whatever `first` is, so that a chunk which was
        interrupted has the same numbers. `state` is that before frame `first`.
        """
        global_context = self.memory.read_global(clip.values, clip.positioned, state.global_cells)
        question = self.decoder.query.ask(clip.values, state.global_cells, words)
        early = self.decoder.prepare(clip.early, is_fine)
        writes = self.memory.prepare_local(clip.projected)
        frames = range(first, clip.values.shape[1])
        if writes is None:
            at_once = self._decode_at_once(global_context, question, early, clip, words, is_fine)
            return self._judged(at_once[first:], clip, state, first)
        predictions, states = [], []
        for t in frames:
            cells = state.local_cells
            context = self.memory.read(global_context[:, t], clip.positioned[:, t], cells)
            fine = tuple(maps[:, t] for maps in early)
            prediction = self.decoder(context, question.at(t, cells), words.features, fine, clip.grid, is_fine)
            prediction, state = self._judge(prediction, clip.values[:, t], state)
            # What is hardly believed to be there stays out of the memory.
            cells = self.memory.write_local(writes, t, self.answer(prediction).sigmoid(), clip.grid, cells)
            state = replace(state, local_cells=cells, frame_index=state.frame_index + 1)
            predictions.append(prediction)
            states.append(state)
        return predictions, states

    def told(self, frame: ClipFeatures, logits: Tensor, before: VideoState, after: VideoState) -> VideoState:
        """The state `after` a frame with masks (B, h, w) that were told, in its local memory for its own (Eq. 6)."""
        writes = self.memory.prepare_local(frame.projected)
        if writes is None:
            return after
        cells = self.memory.write_local(writes, 0, logits.sigmoid(), frame.grid, before.local_cells)
        return replace(after, local_cells=cells)

    def answer(self, prediction: FramePrediction) -> Tensor:
        """A frame's logits (B, h, w) for people and for the memory: nothing is surer than that it is there at all."""
        if prediction.presence is None:
            return prediction.logits
        return torch.minimum(prediction.logits, prediction.presence.detach()[:, None, None])

    def deciding_words(self, clip: ClipFeatures, predictions: Sequence[FramePrediction]) -> Tensor:
        """Which words decide the masks of a chunk's frames, (B, T, W) of sum 1: those that the object looks at.

        That of Eq. 10 where patches look at no words: without fusion, or where `fuse` was not asked for it.
        """
        if clip.word_attention is None:
            return torch.stack([prediction.query_attention for prediction in predictions], dim=1).float()
        logits = torch.stack([self.answer(prediction) for prediction in predictions], dim=1).float()
        # As a share of the surest pixel, so that of an empty mask what comes nearest to being marked is looked at.
        soft = F.logsigmoid(logits)
        soft = (soft - soft.amax((-2, -1), keepdim=True)).exp()
        weights = pooled(soft, clip.grid).flatten(2)  # (B, T, P)
        looks = torch.einsum("btp,btpw->btw", weights, clip.word_attention.float())
        return looks / looks.sum(-1, keepdim=True)

    def _judge(
        self, prediction: FramePrediction, values: Tensor, state: VideoState
    ) -> tuple[FramePrediction, VideoState]:
        """The prediction with its presence, and the state with what it marks, V_t (B, P, D), among the evidence."""
        if self.presence is None:
            return prediction, state
        evidence = state.evidence
        if evidence is None:  # a state saved by a network without the head
            evidence = self.presence.no_evidence(len(values))
        evidence = self.presence.evidence_with(evidence, values, prediction.patch_logits)
        presence = self.presence(evidence, prediction.query)
        return replace(prediction, presence=presence), replace(state, evidence=evidence)

    def _judged(
        self, predictions: list[FramePrediction], clip: ClipFeatures, state: VideoState, first: int
    ) -> tuple[list[FramePrediction], list[VideoState]]:
        """Predictions that were made at once, each judged in turn, and the state after each."""
        judged, states = [], []
        for t, prediction in enumerate(predictions, start=first):
            known, state = self._judge(prediction, clip.values[:, t], state)
            state = replace(state, frame_index=state.frame_index + 1)
            judged.append(known)
            states.append(state)
        return judged, states

    def _decode_at_once(
        self,
        global_context: Tensor,
        question: Question,
        early: tuple[Tensor, ...],
        clip: ClipFeatures,
        words: Words,
        is_fine: bool,
    ) -> list[FramePrediction]:
        """Every frame's prediction where no mask is written back: frames are rows like any other."""
        batch, frames = global_context.shape[:2]
        clips = early[0].shape[0] if early else batch

        def rows(x: Tensor) -> Tensor:
            """(B, T, ...) as B T rows, the expressions of a frame side by side, as `expand_to_expressions` wants."""
            return rearrange(x, "(c e) t ... -> (c t e) ...", c=clips)

        nothing = global_context.new_zeros(batch * frames, 0, global_context.shape[-1])
        found = self.decoder(
            self.memory.read(rows(global_context), rows(clip.positioned), nothing),
            rows(question.logits),
            rows(words.features.unsqueeze(1).expand(-1, frames, -1, -1)),
            tuple(maps.flatten(0, 1) for maps in early),
            clip.grid,
            is_fine,
        )
        parts = (
            rearrange(x, "(c t e) ... -> t (c e) ...", c=clips, t=frames)
            for x in (found.logits, found.query_attention, found.context, found.query, found.patch_logits)
        )
        return [FramePrediction(*each) for each in zip(*parts, strict=True)]
