"""Test-time augmentation: a network over chunks of frames in several sizes and mirrored, its soft masks averaged.

The views of a chunk are computed one after the other, so that no more than one is held at a time. Each has memories of
its own, rows of one state. Soft masks are averaged, not logits: every view has one vote, and one that is wrongly sure
cannot outshout the others. What does not depend on the view's words or memory is done once, on the mean: the refiner,
at the network's own size, and whatever looks at results.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from locater.inference.chunks import ChunkMasks, Chunks, Plan
from locater.records import Frame, VideoState, Views, Words
from locater.video.transforms import resize_soft

PLAIN = Views()
SUREST = 1e-6  # of a mean soft mask, from 0 and from 1: its logits stay finite


class AveragedViews:
    """One network, for some sentences, over the chunks of a video; with a single view, its very own masks."""

    def __init__(self, chunks: Chunks, views: Views, words: Words, mirrored: Words) -> None:
        self.words = words
        self._chunks = chunks
        self._views = views
        self._mirrored = mirrored

    def initial_state(self) -> VideoState:
        """The state before any frame, of all views."""
        with torch.inference_mode():
            start = self._chunks.model.initial_state(self.words)
        return self._joined([start] * len(self._views.each))

    def write_global(
        self,
        some: Sequence[Frame],
        duration: float | None,
        state: VideoState,
        samples: tuple[int, ...],
        is_full: bool,
    ) -> VideoState:
        """The state with some frames of a chunk in the global memory of each view."""
        after = []
        for (scale, is_mirrored), own in zip(self._views.each, self._apart(state), strict=True):
            frames, times = self._chunks.input(some, duration, scale)
            given = frames.flip(-1) if is_mirrored else frames
            after.append(self._chunks.write_global(given, times, self._said(is_mirrored), own, samples, is_full))
        return self._joined(after)

    def segment(
        self, some: Sequence[Frame], duration: float | None, state: VideoState, plan: Plan, is_full: bool
    ) -> ChunkMasks:
        """The masks of a chunk of frames, and the state after each."""
        (scale, is_mirrored), *others = self._views.each
        if not others:
            frames, times = self._chunks.input(some, duration, scale)
            found = self._chunks.segment(frames, times, self._said(is_mirrored), state, plan, is_full)
            return self._chunks.in_own_pixels(found, some[plan.first :])
        total, looks, states = _Mean(), _Mean(), []
        for (scale, is_mirrored), own in zip(self._views.each, self._apart(state), strict=True):
            frames, times = self._chunks.input(some, duration, scale)
            given = frames.flip(-1) if is_mirrored else frames
            # Not replayed: a dozen views would be a dozen graphs.
            unrefined = replace(plan, is_refined=False)
            found = self._chunks.segment(given, times, self._said(is_mirrored), own, unrefined, is_full=False)
            soft = found.logits.float().sigmoid()
            total.add(soft.flip(-1) if is_mirrored else soft)
            if not is_mirrored:  # whose words are those of the sentence
                looks.add(found.word_attention)
            states.append(found.states)
        logits = self._refined(total.value.logit(SUREST), some[plan.first :], duration)
        joined = [self._joined(at_frame) for at_frame in zip(*states, strict=True)]
        return self._chunks.in_own_pixels(ChunkMasks(logits, looks.value, joined), some[plan.first :])

    def _said(self, is_mirrored: bool) -> Words:
        return self._mirrored if is_mirrored else self.words

    def _refined(self, logits: Tensor, some: Sequence[Frame], duration: float | None) -> Tensor:
        if self._chunks.model.refiner is None or self._chunks.effort.refined_cells is not None:
            return logits
        frames, _ = self._chunks.input(some, duration)
        return self._chunks.model.refined(frames.to(self._chunks.dtype), logits.to(self._chunks.dtype))

    def _apart(self, state: VideoState) -> list[VideoState]:
        """Each view's own state, to be computed with."""
        count = len(self._views.each)
        cells = zip(state.global_cells.chunk(count), state.local_cells.chunk(count), strict=True)
        evidence = [None] * count if state.evidence is None else state.evidence.chunk(count)
        return [
            replace(state, global_cells=of_all, local_cells=of_now, evidence=told)
            for (of_all, of_now), told in zip(cells, evidence, strict=True)
        ]

    def _joined(self, states: Sequence[VideoState]) -> VideoState:
        """The views' states as one."""
        first, *others = states
        if not others:
            return replace(first, views=self._views)
        evidence = [state.evidence for state in states if state.evidence is not None]
        return replace(
            first,
            global_cells=torch.cat([state.global_cells for state in states]),
            local_cells=torch.cat([state.local_cells for state in states]),
            evidence=torch.cat(evidence) if evidence else None,
            views=self._views,
        )


class _Mean:
    """The mean of maps, at the size of the first; views come the largest first."""

    def __init__(self) -> None:
        self._sum: Tensor | None = None
        self._count = 0

    def add(self, maps: Tensor) -> None:
        """One more, (E, T, h, w), or (E, T, W) of one size."""
        self._count += 1
        if self._sum is None:
            self._sum = maps.clone()
        else:
            self._sum += maps if maps.shape == self._sum.shape else _at_size(maps, self._sum.shape[-2:])

    @property
    def value(self) -> Tensor:
        assert self._sum is not None
        return self._sum / self._count


def _at_size(soft: Tensor, size: Sequence[int]) -> Tensor:
    """Soft masks (E, T, h, w) at another size."""
    rows, columns = size
    return torch.stack([resize_soft(each, rows, columns) for each in soft.unbind(1)], dim=1)
