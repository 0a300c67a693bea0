"""What the memories were written from: each cell followed back to the patches of the frames that made it."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor
from torch.nn import functional as F

from locater.model.locater import ClipFeatures, Locater
from locater.model.memory import WriteController
from locater.records import FramePrediction, VideoState


@dataclass(frozen=True)
class MemoryTrace:
    """Where what the object finds in one memory comes from, for each frame that reads."""

    origins: Tensor  # (T, S, rows, columns): of each of S written frames, each place's share; all of a frame t sum to 1
    cells: Tensor  # (T, N): how much the object looks at each cell

    @property
    def frame_shares(self) -> Tensor:
        """(T, S): how much of what is read at frame t was written from frame s."""
        return self.origins.sum((-2, -1))

    @property
    def cells_in_use(self) -> Tensor:
        """(T,): how many cells the object looks at, as many as an even look at so many would be (perplexity)."""
        entropy: Tensor = torch.special.entr(self.cells).sum(-1)
        return entropy.exp()


class _Written:
    """What each cell of one memory (N cells) is made of: its share of every written frame's every patch."""

    def __init__(self) -> None:
        self._shares: list[Tensor] = []  # (N, P) each

    def take(self, write: WriteController, keyed: Tensor, from_summary: Tensor, cells: Tensor) -> None:
        """Add one frame, of which `keyed` (1, P, 2 D) goes into cells (1, N, D); older frames fade as cells do."""
        taken, stayed = write.sources(keyed, from_summary, cells)
        self._shares = [*(share * stayed[0].unsqueeze(-1) for share in self._shares), taken[0]]

    def read_by(self, cells: Tensor, count: int) -> Tensor:
        """(S, P) for a look (N,) at the cells, of sum 1; frames not yet written, up to `count`, have none."""
        maps = torch.stack([torch.einsum("n,np->p", cells, share) for share in self._shares])
        whole = F.pad(maps, (0, 0, 0, count - len(maps)))
        return whole / whole.sum()


def object_weights(soft_masks: Tensor, grid: tuple[int, int]) -> Tensor:
    """How much of the object is in each patch, (T, P) of sum 1 each, from soft masks (T, h, w)."""
    pooled = F.adaptive_avg_pool2d(soft_masks, grid).flatten(1)
    return pooled / pooled.sum(-1, keepdim=True).clamp(min=1e-12)


def look_at_cells(positioned: Tensor, cells: Tensor, heads: int, weights: Tensor) -> Tensor:
    """How much the object, patches (P, D) weighted by (P,), looks at each of the cells (N, D) in Eq. 7: (N,)."""
    query, key = (rearrange(x, "n (h d) -> h n d", h=heads) for x in (positioned, cells))
    looks = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5).softmax(-1)  # (h, P, N)
    return torch.einsum("hpn,p->n", looks, weights) / heads


def trace_global(model: Locater, clip: ClipFeatures, start: Tensor, weights: Tensor) -> MemoryTrace | None:
    """The global memory of a clip of one expression, all of whose frames were written; None where there is none."""
    write = model.memory.global_write
    if write is None:
        return None
    keyed = write.keyed(write.from_values(clip.positioned))
    from_summary = write.keyed_map(write.from_summary.weight)
    written, cells = _Written(), start
    for frame in keyed.unbind(1):
        written.take(write, frame, from_summary, cells)
        cells = write.write(frame, from_summary, cells)
    looks = [
        look_at_cells(positioned, cells[0], model.memory.heads, weight)
        for positioned, weight in zip(clip.positioned[0], weights, strict=True)
    ]
    origins = torch.stack([written.read_by(look, len(looks)) for look in looks])
    return MemoryTrace(rearrange(origins, "t s (r c) -> t s r c", r=clip.grid[0]), torch.stack(looks))


def trace_local(
    model: Locater,
    clip: ClipFeatures,
    predictions: Sequence[FramePrediction],
    states: Sequence[VideoState],
    weights: Tensor,
) -> MemoryTrace | None:
    """The local memory of a clip of one expression, from the second frame on; None where there is none."""
    write, writes = model.memory.local_write, model.memory.prepare_local(clip.projected)
    count = len(predictions)
    if write is None or writes is None or count < 2:
        return None
    written, looks, origins = _Written(), [], []
    cells = model.memory.initial_state(1)[1]
    for t in range(count - 1):
        soft = model.answer(predictions[t])[:1].sigmoid()
        written.take(write, model.memory.keyed_with_mask(writes, t, soft, clip.grid), writes.from_summary, cells)
        cells = states[t].local_cells[:1]
        look = look_at_cells(clip.positioned[0, t + 1], cells[0], model.memory.heads, weights[t + 1])
        looks.append(look)
        origins.append(written.read_by(look, count))
    return MemoryTrace(rearrange(torch.stack(origins), "t s (r c) -> t s r c", r=clip.grid[0]), torch.stack(looks))
