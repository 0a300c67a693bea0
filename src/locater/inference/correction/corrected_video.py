"""The loop over a video in which masks were corrected: the frames after follow, and in a file those before too."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
import torch
from einops import rearrange
from torch import Tensor

from locater.errors import LocaterError
from locater.inference.async_results import AsyncResults
from locater.inference.chunks import ChunkMasks, Chunks
from locater.inference.correction.correcting import CorrectedMask, FrameView, corrected_mask
from locater.inference.correction.correction_checks import check_size
from locater.inference.correction.following import corrected_in, forgotten, found_again, nobody_followed, seen
from locater.model.locater import ClipFeatures
from locater.model.visual.refiner import SUREST, Refiner
from locater.records import Correction, Followed, Frame, FrameResult, FrameSource, VideoState, Words

FARTHEST_BACK = 1000  # frames before a correction that follow it
_BLOCK_FRAMES = 64  # read at a time on the way back, and held in the network's size
_STEPS = 120 / SUREST  # of a logit in one byte
Input = Callable[[list[Frame], float | None], tuple[Tensor, Tensor]]


class SeenChunk:
    """Some frames, encoded for the network, and for corrections once somebody asks."""

    def __init__(self, clip: ClipFeatures, look: Callable[[], Tensor], refiner: Refiner | None) -> None:
        self.clip = clip
        self._look = look
        self._refiner = refiner
        self._views: dict[int, FrameView] = {}

    @cached_property
    def _image(self) -> Tensor:
        """(T, D, r, c), of all frames at once."""
        return self._look()

    def view(self, t: int) -> FrameView:
        """The chunk's t-th frame as corrections see it."""
        if t not in self._views:
            self._views[t] = FrameView(self._image[t : t + 1], self._refiner)
        return self._views[t]


@dataclass(frozen=True)
class _Anchor:
    """A corrected frame of one row."""

    mask: CorrectedMask
    looks: Tensor  # (P, D)


@dataclass(frozen=True)
class _FrameMasks:
    """One frame's masks."""

    own: Tensor  # (E, h, w): the network's
    final: Tensor  # (E, h, w)
    is_given: Tensor  # (E,) bool: told of this very frame, or known from the way back


class CorrectedVideo:
    """One video's masks by some words, some of them corrected.

    Each corrected frame is followed in both directions, up to halfway to the next one of the same row. The way back
    comes first and keeps its masks, a few kilobytes each and at most `FARTHEST_BACK` of them per correction. What is
    live is not known before it comes: there a correction holds from its frame on.
    """

    def __init__(
        self, chunks: Chunks, make_input: Input, words: Words, corrections: Sequence[Correction], chunk: int
    ) -> None:
        self._chunks = chunks
        self._model = chunks.model
        self._make_input = make_input
        self._words = words
        self._corrections = corrections
        self._chunk = chunk
        self._is_wordless = torch.tensor([not text for text in words.expressions], device=chunks.device)
        self._anchors: dict[tuple[int, int], _Anchor] = {}  # by row and frame
        self._before: dict[tuple[int, int], bytes] = {}  # what followed on the way back, likewise

    def results(
        self,
        source: FrameSource,
        state: VideoState,
        soft: bool,
        samples: Callable[[list[Frame], VideoState], tuple[int, ...]],
    ) -> Iterator[FrameResult]:
        """Every frame's from the state's on; `samples` tells which frames are written to a live global memory."""
        is_live = not state.is_global_complete
        duration = None if is_live else source.info.duration
        if not is_live:
            self._correct_known_frames(source, state)
            self._go_back(source, state)
        first = state.frame_index - (state.frame_index % self._chunk if source.is_repeatable else 0)
        frames = source.frames(start=first)
        while some := list(islice(frames, self._chunk)):
            done = max(0, state.frame_index - some[0].index)
            if done >= len(some):
                continue
            with torch.inference_mode():
                written = samples(some, state) if is_live else ()
                found = self._segmented(some, duration, state, done, written)
                pending = AsyncResults.of(some[done:], found, self._words, soft)
            state = found.states[-1]
            yield from (self._with_given_masks(result) for result in pending.results())
        late = [told.frame for told in self._corrections if told.frame >= state.frame_index]
        if late:
            raise _past_the_end(min(late), state.frame_index)

    # ---- Corrected frames --------------------------------------------------------------------------------------------

    def _correct_known_frames(self, source: FrameSource, state: VideoState) -> None:
        """Fill the anchors, in the order in which corrections were made: each sees what followed from those before."""
        start = replace(self._model.initial_state(self._words), global_cells=state.global_cells, followed=None)
        window = self._model.visual.window
        for told in self._corrections:
            first = told.frame - told.frame % window
            some = list(islice(source.frames(start=first), window))
            if told.frame - first >= len(some):
                raise _past_the_end(told.frame, first + len(some))
            frame = some[told.frame - first]
            with torch.inference_mode():
                chunk = self._seen(some, source.info.duration)
                raw, _, _ = self._stepped(chunk, told.frame - first, start)
                view = chunk.view(told.frame - first)
                self._correct(told, frame, view, raw, self._nearest(told, view))

    def _nearest(self, told: Correction, view: FrameView) -> Followed:
        """What follows, in the frame of a correction, from the nearest one of its row that was made before."""
        followed = nobody_followed(len(self._words.expressions), view.looks)
        of_row = [frame for row, frame in self._anchors if row == told.expression]
        if not of_row:
            return followed
        nearest = self._anchors[told.expression, min(of_row, key=lambda frame: abs(frame - told.frame))]
        return corrected_in(followed, told.expression, nearest.looks, nearest.mask.labels, nearest.mask.trust)

    def _correct(self, told: Correction, frame: Frame, view: FrameView, raw: Tensor, followed: Followed) -> None:
        """Add the anchor that a correction makes of the network's masks (E, h, w)."""
        row = told.expression
        is_followed = bool(followed.is_followed[row])
        before = self._redrawn(view, found_again(followed, view.looks, raw, view.grid))[row] if is_followed else None
        own = self._redrawn(view, raw)[row]
        height, width = frame.pixels.shape[:2]
        check_size(told, height, width)
        mask = corrected_mask(view, own, before, told, (height, width))
        self._anchors[row, told.frame] = _Anchor(mask, view.looks)

    # ---- Frames before -----------------------------------------------------------------------------------------------

    def _go_back(self, source: FrameSource, state: VideoState) -> None:
        """Fill what follows in frames before corrected ones, from the state's frame on."""
        spans = {key: start for key in self._anchors if (start := max(self._back_to(*key), state.frame_index)) < key[1]}
        wanted = sorted({t for (_, frame), start in spans.items() for t in range(start, frame + 1)}, reverse=True)
        behind = replace(self._model.initial_state(self._words), global_cells=state.global_cells)
        held: dict[int, tuple[Tensor, Tensor]] = {}  # chunks of a block, by their first frame
        while wanted:
            first = wanted[0] - wanted[0] % self._chunk
            with torch.inference_mode():
                if first not in held:
                    held = self._block(source, first)
                chunk = self._encoded(*held[first])
                while wanted and wanted[0] >= first:
                    behind = self._stepped_back(chunk, first, wanted.pop(0), behind, spans)

    def _back_to(self, row: int, frame: int) -> int:
        """The first frame that follows a corrected one: past halfway to the one before, or as far as it reaches."""
        earlier = [other for of_row, other in self._anchors if of_row == row and other < frame]
        return (max(earlier) + frame) // 2 + 1 if earlier else max(0, frame - FARTHEST_BACK)

    def _block(self, source: FrameSource, last: int) -> dict[int, tuple[Tensor, Tensor]]:
        """The inputs of some chunks, the latest from frame `last` on, read at once: a file is read from its start."""
        count = max(1, _BLOCK_FRAMES // self._chunk)
        first = max(0, last - (count - 1) * self._chunk)
        frames = source.frames(start=first)
        starts = range(first, last + 1, self._chunk)
        return {start: self._make_input(list(islice(frames, self._chunk)), source.info.duration) for start in starts}

    def _stepped_back(
        self, chunk: SeenChunk, first: int, frame: int, state: VideoState, spans: dict[tuple[int, int], int]
    ) -> VideoState:
        """The state behind a frame, whose masks are kept where they follow a later one."""
        t = frame - first
        view = chunk.view(t)
        raw, _, after = self._stepped(chunk, t, state)
        followed = state.followed or nobody_followed(len(raw), view.looks)
        is_over = [
            not any(row == r and start <= frame < a for (r, a), start in spans.items()) for row in range(len(raw))
        ]
        followed = forgotten(followed, torch.tensor(is_over, device=raw.device))
        final = self._redrawn(view, found_again(followed, view.looks, raw, view.grid))
        for row in followed.is_followed.nonzero().flatten().tolist():
            self._before[row, frame] = _packed(final[row])
        for row in range(len(raw)):
            if anchor := self._anchors.get((row, frame)):
                followed = corrected_in(followed, row, anchor.looks, anchor.mask.labels, anchor.mask.trust)
                final[row] = anchor.mask.logits
        return self._told(chunk, t, _FrameMasks(raw, final, followed.is_followed), followed, state, after)

    # ---- Frames in order ---------------------------------------------------------------------------------------------

    def _segmented(
        self, some: list[Frame], duration: float | None, state: VideoState, done: int, samples: tuple[int, ...]
    ) -> ChunkMasks:
        """A chunk's masks from its frame `done` on."""
        chunk = self._seen(some, duration)
        logits, attention, states = [], [], []
        for t in range(done, len(some)):
            if t in samples:
                state = self._model.write_global(chunk.clip.positioned[:, t : t + 1], state)
            final, weights, state = self._segmented_frame(chunk, t, some[t], state)
            logits.append(final)
            attention.append(weights)
            states.append(state)
        return ChunkMasks(torch.stack(logits, dim=1), torch.stack(attention, dim=1), states)

    def _segmented_frame(
        self, chunk: SeenChunk, t: int, frame: Frame, state: VideoState
    ) -> tuple[Tensor, Tensor, VideoState]:
        """A frame's final logits (E, h, w), its word attention, and the state after it."""
        raw, attention, after = self._stepped(chunk, t, state)
        if all((row, frame.index) in self._before for row in range(len(raw))):
            known = [_unpacked(self._before.pop((row, frame.index)), raw[row]) for row in range(len(raw))]
            final = torch.stack(known)
            return final, attention, replace(self._model.told(chunk.clip.frame(t), final, state, after), followed=None)
        view = chunk.view(t)
        followed = state.followed or nobody_followed(len(raw), view.looks)
        if not state.is_global_complete:
            for told in self._corrections:
                if told.frame == frame.index:
                    self._correct(told, frame, view, raw, followed)
        keys = [(row, frame.index) for row in range(len(raw))]
        is_given = torch.tensor([key in self._anchors or key in self._before for key in keys], device=raw.device)
        followed = forgotten(followed, is_given)
        first = found_again(followed, view.looks, raw, view.grid)
        final = first.clone()
        final[~is_given] = self._redrawn(view, first[~is_given])
        for key in keys:
            if anchor := self._anchors.get(key):
                followed = corrected_in(followed, key[0], anchor.looks, anchor.mask.labels, anchor.mask.trust)
                final[key[0]] = anchor.mask.logits
            elif key in self._before:
                final[key[0]] = _unpacked(self._before.pop(key), final[key[0]])
        return final, attention, self._told(chunk, t, _FrameMasks(raw, final, is_given), followed, state, after)

    def _told(
        self, chunk: SeenChunk, t: int, masks: _FrameMasks, followed: Followed, before: VideoState, after: VideoState
    ) -> VideoState:
        """The state after a frame: where a mask was told or followed it is written instead of the network's own."""
        view = chunk.view(t)
        is_told = followed.is_followed | masks.is_given
        if is_told.any():
            written = torch.where(is_told[:, None, None], masks.final, masks.own)
            after = self._model.told(chunk.clip.frame(t), written, before, after)
        return replace(after, followed=seen(followed, view.looks, masks.final, masks.own, view.grid))

    # ---- The network -------------------------------------------------------------------------------------------------

    def _seen(self, some: list[Frame], duration: float | None) -> SeenChunk:
        return self._encoded(*self._make_input(some, duration))

    def _encoded(self, frames: Tensor, times: Tensor) -> SeenChunk:
        """Frames (1, T, 3, S, S') as the network and as corrections see them."""
        frames = frames.to(self._chunks.dtype)
        visual = self._model.visual(frames)
        refiner = self._model.refiner

        def look() -> Tensor:
            if refiner is not None:
                return refiner.looked_at(frames[0])
            patches: Tensor = rearrange(visual.patches[0], "t (r c) d -> t d r c", r=visual.grid[0])
            return patches

        return SeenChunk(self._model.fuse(visual, times, self._words, with_word_attention=True), look, refiner)

    def _stepped(self, chunk: SeenChunk, t: int, state: VideoState) -> tuple[Tensor, Tensor, VideoState]:
        """The network's own logits (E, h, w) of a frame, nothing for no words, its attention and its state after it."""
        frame = chunk.clip.frame(t)
        prediction, after = self._model.step(frame, self._words, state)
        logits = torch.where(self._is_wordless[:, None, None], -SUREST, self._model.answer(prediction))
        return logits, self._model.deciding_words(frame, [prediction])[:, 0], after

    def _redrawn(self, view: FrameView, logits: Tensor) -> Tensor:
        """Masks (N, h, w) along the frame's edges, where there is a refiner."""
        if view.refiner is None or not len(logits):
            return logits
        return view.refiner.redrawn(view.image.expand(len(logits), -1, -1, -1), logits)

    def _with_given_masks(self, result: FrameResult) -> FrameResult:
        """The result with the masks that somebody drew, pixel for pixel."""
        drawn = [t for t in self._corrections if t.frame == result.frame.index and t.mask is not None and not t.clicks]
        if not drawn:
            return result
        masks, soft = result.masks.copy(), None if result.soft_masks is None else result.soft_masks.copy()
        for told in drawn:
            masks[told.expression] = told.mask
            if soft is not None:
                soft[told.expression] = told.mask
        return replace(result, masks=masks, soft_masks=soft)


def _past_the_end(frame: int, count: int) -> LocaterError:
    return LocaterError(f"Frame {frame} is corrected, but the video has {count} frames, numbered from 0.")


def _packed(logits: Tensor) -> bytes:
    """Logits (h, w) in a byte each, deflated: mostly all yes and all no."""
    return zlib.compress(
        (logits.float().clamp(-SUREST, SUREST) * _STEPS).round().to(torch.int8).cpu().numpy().tobytes()
    )


def _unpacked(packed: bytes, like: Tensor) -> Tensor:
    values = np.frombuffer(zlib.decompress(packed), dtype=np.int8).astype(np.float32) / _STEPS
    return torch.from_numpy(values).view(like.shape).to(like)
