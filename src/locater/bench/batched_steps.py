"""A chunk's steps, all that needs no local memory computed at once: the same masks as `Locater.step` gives."""

from dataclasses import replace

import torch
from einops import rearrange
from torch import Tensor

from locater.bench.memory_ways import write_with_keys
from locater.model.locater import ClipFeatures, Locater
from locater.model.memory import summary
from locater.model.transformer import attend
from locater.records import VideoState, Words


def batched_steps(model: Locater, clip: ClipFeatures, words: Words, state: VideoState) -> tuple[Tensor, VideoState]:
    """Logits (B, T, h, w) of a chunk and the state after it, where the global memory is complete.

    For the whole chunk: every read of the global cells, the gate's keys W_o W_v v, and the query's context but for the
    local memory's part (W_1 z is a sum of three). The recurrence keeps the local read, the readout, the mask's
    embedding and the write.
    """
    memory, decoder = model.memory, model.decoder
    found = _global_reads(model, clip, state)
    keys = clip.projected if memory.local_write is None else memory.local_write.gate(clip.projected)
    known, from_local = _query_context(model, clip, words, state)
    word_keys = decoder.query.from_words(words.features)  # (B, W, D)
    cells, logits = state.local_cells, []
    for t in range(clip.values.shape[1]):
        values = clip.values[:, t]
        read = [reads[:, t] for reads in found]
        if memory.local_write is not None:
            read.append(attend(clip.stamped[:, t], cells, cells, memory.heads))
        context = memory.digest(values, read) if memory.digest is not None else sum(read, start=values)
        context = memory.refine(context)
        asked = known[:, t] if from_local is None else known[:, t] + summary(cells) @ from_local.T
        weights = torch.einsum("bd,bwd->bw", asked, word_keys).masked_fill(words.is_padding, -torch.inf).softmax(-1)
        query = torch.einsum("bw,bwd->bd", weights, words.features)
        mask = decoder.readout(context, query).unflatten(1, clip.grid)
        if decoder.upsampler is not None:
            mask = decoder.upsampler(context, query, mask, tuple(maps[:, t] for maps in clip.early))
        logits.append(mask)
        if memory.local_write is not None and memory.mask_embedding is not None and memory.from_mask is not None:
            seen = memory.from_mask(memory.mask_embedding(mask.sigmoid(), clip.grid))
            candidate, key = clip.projected[:, t] + seen, keys[:, t] + memory.local_write.gate(seen)
            cells = write_with_keys(memory.local_write, candidate, key, cells)
    after = replace(state, local_cells=cells, frame_index=state.frame_index + clip.values.shape[1])
    return torch.stack(logits, dim=1), after


def _global_reads(model: Locater, clip: ClipFeatures, state: VideoState) -> list[Tensor]:
    """What every frame finds in the global cells, (B, T, P, D); nothing where there are none."""
    if not state.global_cells.shape[1]:
        return []
    batch, frames = clip.stamped.shape[:2]
    cells = state.global_cells.repeat_interleave(frames, dim=0)
    found = attend(clip.stamped.flatten(0, 1), cells, cells, model.memory.heads)
    return [rearrange(found, "(b t) p d -> b t p d", b=batch)]


def _query_context(model: Locater, clip: ClipFeatures, words: Words, state: VideoState) -> tuple[Tensor, Tensor | None]:
    """W_1 z (B, T, D) without the local memory's part, and the columns of W_1 that belong to that part (Eq. 9, 10)."""
    query = model.decoder.query
    if query.kind == "text":
        is_word = (~words.is_padding).unsqueeze(-1).to(words.features.dtype)
        context = query.from_context((words.features * is_word).sum(1) / is_word.sum(1))
        return context.unsqueeze(1).expand(-1, clip.values.shape[1], -1), None
    for_values, for_global, for_local = query.from_context.weight.chunk(3, dim=1)
    known = clip.values.mean(2) @ for_values.T + (summary(state.global_cells) @ for_global.T).unsqueeze(1)
    return known, for_local
