"""A network over chunks of frames, as one function of tensors alone, so that a GPU can replay it as a CUDA graph."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from locater.compute.cuda_graph import Replays, captured_in_shared_pool
from locater.inference.effort import Effort
from locater.inference.redrawing import RedrawnPart, redrawn
from locater.model.compiled import compiled_twin
from locater.model.locater import Locater
from locater.records import Frame, Tokens, VideoState, VisualFeatures, Words
from locater.video.transforms import frame_times, frames_to_tensor

MOST_FILLED = 3  # times a last chunk's frames: op by op a GPU takes three to five times as long for each (dev/LOG.md)


@dataclass(frozen=True)
class Plan:
    """What is done with a chunk of frames."""

    samples: tuple[int, ...] = ()  # those of its frames that are written into the global memory
    is_live: bool = False  # each of them just before it is segmented; else all of them before the first
    is_segmented: bool = True  # False: the global memory alone is written
    is_refined: bool = True  # False: the masks are wanted as they are before a refiner, where there is one
    first: int = 0  # frames before it were segmented earlier, before an interruption

    def spans(self, frames: int) -> list[tuple[int, int]]:
        """Where the chunk is cut: before each frame that changes what all after it read."""
        starts = sorted({0, *self.samples}) if self.is_live else [0]
        return list(itertools.pairwise([*starts, frames]))


@dataclass(frozen=True)
class ChunkMasks:
    """What a chunk's frames, from `Plan.first` on, gave."""

    logits: Tensor  # (E, T, h, w)
    word_attention: Tensor  # (E, T, W)
    states: list[VideoState]  # after each frame
    parts: Sequence[Sequence[RedrawnPart | None]] = ()  # a frame's masks as fine as they were redrawn, where they were


# What `Chunks._computed` takes: what decides how, and the tensors.
_Call = tuple[Any, ...]


class Chunks:
    """One network's way with chunks; with `is_replayed`, on a GPU, they are replayed as CUDA graphs.

    Captured is what has full length, `is_compiled` first; a last, shorter chunk is filled up where that is sooner done.
    """

    def __init__(
        self,
        model: Locater,
        is_replayed: bool,
        effort: Effort = Effort(),  # noqa: B008
        is_compiled: bool = False,
    ) -> None:
        self.model = model
        self.effort = effort
        self.device = model.memory.local_start.device
        self.dtype = model.memory.local_start.dtype
        self._replays: Replays | None = None
        if is_replayed:
            compiled = Chunks(compiled_twin(model), False, effort)._computed if is_compiled else None
            self._replays = Replays(self._computed, captured_in_shared_pool(), compiled)
        self._last_full: tuple[int, ...] | None = None  # the shape of the frames of the last full chunk

    def input(self, some: Sequence[Frame], duration: float | None, scale: float = 1.0) -> tuple[Tensor, Tensor]:
        """A chunk of frames (1, T, 3, S, S'), `scale` times as large as usual, and their times (1, T, 2)."""
        frames = frames_to_tensor([frame.pixels for frame in some], self._input_size(some[0], scale), self.device)
        times = frame_times(some, duration)
        return frames.unsqueeze(0), times.unsqueeze(0).to(self.device, non_blocking=True)

    def _input_size(self, frame: Frame, scale: float = 1.0) -> tuple[int, int]:
        height, width = frame.pixels.shape[:2]
        return self.model.config.input_size(height, width, scale * self.effort.scale)

    def read(self, tokens: Tokens) -> Words:
        """The encoded sentences, in the precision that computes."""
        words: Words = self.model.text(tokens)
        return replace(words, features=words.features.to(self.dtype))

    def write_global(
        self, frames: Tensor, times: Tensor, words: Words, state: VideoState, samples: tuple[int, ...], is_full: bool
    ) -> VideoState:
        """The state with some frames of (1, T, 3, S, S') in its global memory."""
        plan = Plan(samples, is_segmented=False)
        (cells,) = self._run(self._call(plan, frames, times, words, state), is_full)
        return replace(state, global_cells=cells)

    def segment(
        self, frames: Tensor, times: Tensor, words: Words, state: VideoState, plan: Plan, is_full: bool
    ) -> ChunkMasks:
        """The masks of frames (1, T, 3, S, S'); `is_full`: more chunks of this shape are to be expected."""
        count, length = frames.shape[1], self._length(plan, frames, is_full)
        call = self._call(plan, frames, times, words, state)
        if self._replays is not None and length > count:
            longer = self._call(plan, _continued(frames, length), _continued(times, length), words, state)
            if self._replays.has(*longer):
                call = longer
        logits, attention, *after = self._run(call, is_full)
        spans = plan.spans(count)
        global_cells, after = after[: len(spans)], after[len(spans) :]
        local_cells, evidence = iter(after[: logits.shape[1]]), iter(after[logits.shape[1] :])
        states = []
        for span_cells, (start, stop) in zip(global_cells, spans, strict=True):
            for _ in range(max(start, plan.first), stop):
                state = replace(
                    state,
                    global_cells=span_cells,
                    local_cells=next(local_cells),
                    evidence=next(evidence, None),
                    frame_index=state.frame_index + 1,
                )
                states.append(state)
        return ChunkMasks(logits[:, :count], attention[:, :count], states)

    def _length(self, plan: Plan, frames: Tensor, is_full: bool) -> int:
        """How many frames may be computed for a chunk: for the last one, as many as for those before.

        No frame sees a later one, so what is added at the end changes none.
        """
        count = frames.shape[1]
        if self._replays is None or plan.samples or plan.is_live or plan.first or self.model.visual.window > 1:
            return count
        if is_full:
            self._last_full = frames.shape
            return count
        length = self._last_full[1] if self._last_full else 0
        is_alike = self._last_full == (frames.shape[0], length, *frames.shape[2:])
        return length if is_alike and count < length <= MOST_FILLED * count else count

    def in_own_pixels(self, found: ChunkMasks, some: Sequence[Frame]) -> ChunkMasks:
        """A chunk's masks along the edges of its frames, where these are not refined as the network sees them."""
        refiner, cells = self.model.refiner, self.effort.refined_cells
        if refiner is None or cells is None:
            return found
        whole = refiner.cells(*self._input_size(some[0]))
        each = [
            redrawn(refiner, frame.pixels, logits, cells, whole)
            for frame, logits in zip(some, found.logits.to(self.dtype).unbind(1), strict=True)
        ]
        logits = torch.stack([coarse for coarse, _ in each], dim=1)
        return replace(found, logits=logits, parts=[parts for _, parts in each])

    def _seen(self, frames: Tensor) -> VisualFeatures:
        if not self.effort.is_by_frame or self.model.visual.window > 1:
            seen: VisualFeatures = self.model.visual(frames)
            return seen
        return VisualFeatures.joined([self.model.visual(frame) for frame in torch.split(frames, 1, dim=1)])

    def _call(self, plan: Plan, frames: Tensor, times: Tensor, words: Words, state: VideoState) -> _Call:
        return (
            (plan, words.may_be_padded),
            frames.to(self.dtype),
            times,
            words.features,
            words.is_padding,
            state.global_cells,
            state.local_cells,
            *(() if words.meanings is None else (words.meanings,)),
            *self._evidence(state),
        )

    def _run(self, call: _Call, is_full: bool) -> tuple[Tensor, ...]:
        if self._replays is None or not (is_full or self._replays.has(*call)):
            return self._computed(*call)
        return self._replays(*call)

    def _evidence(self, state: VideoState) -> tuple[Tensor, ...]:
        """The state's evidence where the network asks for any; a state of one that does not begins with none."""
        if self.model.presence is None:
            return ()
        return (self.model.presence.no_evidence(len(state.local_cells)) if state.evidence is None else state.evidence,)

    def _computed(self, how: tuple[Plan, bool], *tensors: Tensor) -> tuple[Tensor, ...]:
        """The global cells; or logits, attention, the global cells of each span, and the rest of each frame's state."""
        plan, may_be_padded = how
        frames, times, features, is_padding, global_cells, local_cells, *rest = tensors
        evidence = rest.pop() if self.model.presence is not None else None
        words = Words(features, is_padding, is_padding, (), (), may_be_padded, *rest)
        state = VideoState(global_cells, local_cells, 0, True, (), evidence)
        clip = self.model.fuse(self._seen(frames), times, words, with_word_attention=plan.is_segmented)
        if plan.samples and not plan.is_live:
            # Stacked rather than indexed: a list of places would be copied to the GPU, which no graph can hold.
            state = self.model.write_global(torch.stack([clip.positioned[:, t] for t in plan.samples], dim=1), state)
        if not plan.is_segmented:
            return (state.global_cells,)
        predictions, globals_by_span, locals_by_frame, evidence_by_frame = [], [], [], []
        for start, stop in plan.spans(frames.shape[1]):
            done = max(0, plan.first - start)
            if plan.is_live and start in plan.samples and not done:
                state = self.model.write_global(clip.positioned[:, start : start + 1], state)
            globals_by_span.append(state.global_cells)
            if done < stop - start:
                found, states = self.model.decode_clip(clip.part(start, stop), words, state, done)
                state = states[-1]
                predictions += found
                locals_by_frame += [each.local_cells for each in states]
                evidence_by_frame += [each.evidence for each in states if each.evidence is not None]
        logits = torch.stack([self.model.answer(prediction) for prediction in predictions], dim=1)
        is_refined = plan.is_refined and self.effort.refined_cells is None
        return (
            self.model.refined(frames[:, plan.first :], logits) if is_refined else logits,
            self.model.deciding_words(clip.part(plan.first, frames.shape[1]), predictions),
            *globals_by_span,
            *locals_by_frame,
            *evidence_by_frame,
        )


def _continued(given: Tensor, length: int) -> Tensor:
    """`given` (1, T, ...) with its last frame again until there are so many."""
    added = length - given.shape[1]
    return torch.cat([given, given[:, -1:].expand(-1, added, *given.shape[2:])], dim=1)
