"""Ways to run the memory module over a video: the network's own functions, and the same with fewer launches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from locater.bench.fast_paths import Captured, TensorFunction
from locater.model.memory import LocalGlobalMemory, WriteController
from locater.model.transformer import attend

CHUNK = 64  # frames of a CUDA graph, at most


@dataclass(frozen=True)
class Way:
    """Two pure functions, both over a chunk of frames V (1, T, P, D)."""

    remember: Callable[[Tensor, Tensor], tuple[Tensor]]  # V and global cells: the global cells after it
    steps: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]  # V, both cells: G (1, T, P, D), local cells after

    @classmethod
    def plain(cls, memory: LocalGlobalMemory) -> Self:
        """The network's own functions, frame by frame."""
        return cls(
            lambda values, cells: (memory.write_global(values, cells),),
            lambda values, global_cells, local_cells: plain_steps(memory, values, global_cells, local_cells),
        )

    @classmethod
    def batched(cls, memory: LocalGlobalMemory) -> Self:
        """All that needs no recurrence computed for the whole chunk at once."""
        return cls(
            lambda values, cells: (batched_remember(memory, values, cells),),
            lambda values, global_cells, local_cells: batched_steps(memory, values, global_cells, local_cells),
        )

    def captured(self) -> "Way":
        """The same as CUDA graphs, one for each length of chunk that comes."""
        return Way(_Graphs(self.remember), _Graphs(self.steps))  # type: ignore[arg-type]

    def run(
        self, values: Tensor, cells: tuple[Tensor, Tensor], interval: int, keep: list[Tensor] | None = None
    ) -> Tensor:
        """The local cells after a whole video; each chunk's G is added to `keep`, where that is given."""
        global_cells, local_cells = cells
        sampled = values[:, ::interval]
        for some in torch.split(sampled, chunk_length(sampled.shape[1]), dim=1):
            (global_cells,) = self.remember(some, global_cells)
        for some in torch.split(values, chunk_length(values.shape[1]), dim=1):
            contexts, local_cells = self.steps(some, global_cells, local_cells)
            if keep is not None:
                keep.append(contexts.clone())
        return local_cells


def plain_steps(
    memory: LocalGlobalMemory, values: Tensor, global_cells: Tensor, local_cells: Tensor
) -> tuple[Tensor, Tensor]:
    """G of a chunk and the local cells after it: read (Eq. 7, 8), and write (Eq. 6 without the mask)."""
    assert memory.local_write is not None
    projected = memory.project_local(values)
    contexts = []
    for t in range(values.shape[1]):
        contexts.append(memory.read(values[:, t], values[:, t], global_cells, local_cells))
        local_cells = memory.local_write(projected[:, t], local_cells)
    return torch.stack(contexts, dim=1), local_cells


def batched_remember(memory: LocalGlobalMemory, values: Tensor, cells: Tensor) -> Tensor:
    """`write_global` with the gate's keys of all frames in one matrix product."""
    write = memory.global_write
    assert write is not None
    projected = write.from_values(values)
    for candidate, keys in zip(projected.unbind(1), write.gate(projected).unbind(1), strict=True):
        cells = write_with_keys(write, candidate, keys, cells)
    return cells


def batched_steps(
    memory: LocalGlobalMemory, values: Tensor, global_cells: Tensor, local_cells: Tensor
) -> tuple[Tensor, Tensor]:
    """`plain_steps` with one attention for all reads of the global cells, which are fixed, and one product for keys."""
    write = memory.local_write
    assert write is not None
    frames = values.flatten(0, 1)  # (T, P, D)
    fixed = global_cells.expand(len(frames), -1, -1)
    found = attend(frames, fixed, fixed, memory.heads)
    projected = write.from_values(frames)
    keys = write.gate(projected)
    contexts = []
    for t in range(len(frames)):
        frame = frames[None, t]
        read = [found[None, t], attend(frame, local_cells, local_cells, memory.heads)]
        context = memory.digest(frame, read) if memory.digest is not None else sum(read, start=frame)
        contexts.append(memory.refine(context))
        local_cells = write_with_keys(write, projected[None, t], keys[None, t], local_cells)
    return torch.stack(contexts, dim=1), local_cells


def write_with_keys(write: WriteController, projected: Tensor, keys: Tensor, cells: Tensor) -> Tensor:
    """`WriteController.forward`, given W_o W_v v too: W_o c = W_o W_v v + W_o W_a mean(m), so a vector is added."""
    summary = write.from_summary(cells.mean(1, keepdim=True))
    candidate, keys = projected + summary, keys + write.gate(summary)
    c, k, m = (x.unflatten(-1, (write.heads, -1)).transpose(1, 2) for x in (candidate, keys, cells))
    if write.rule == "compete":
        # Cells on the last axis: torch.compile takes a product with softmax(dim=-2) for attention, softmax(dim=-1).
        share = (k @ m.mT * c.shape[-1] ** -0.5).softmax(dim=-1)  # (1, h, P, N)
        written = m + share.mT @ c
    elif write.rule == "sum":
        gate = (m @ k.mT * c.shape[-1] ** -0.5).sigmoid()
        written = gate @ c + (1 - gate).sum(-1, keepdim=True) * m
    else:
        gate = (m @ k.mT).sigmoid()
        written = gate @ c / c.shape[-2] + (1 - gate.mean(-1, keepdim=True)) * m
    after: Tensor = write.norm(written.transpose(1, 2).flatten(-2))
    return after


def chunk_length(frames: int) -> int:
    """The longest chunk of at most `CHUNK` frames that divides the video, so that one CUDA graph does."""
    return next(length for length in range(min(frames, CHUNK), 0, -1) if frames % length == 0)


class _Graphs:
    """A chunk function as CUDA graphs, captured when a chunk of a new length comes."""

    def __init__(self, chunk: TensorFunction) -> None:
        self._chunk = chunk
        self._captured: dict[int, Captured] = {}

    def __call__(self, values: Tensor, *cells: Tensor) -> tuple[Tensor, ...]:
        length = values.shape[1]
        if length not in self._captured:
            self._captured[length] = Captured(self._chunk, values, *cells)
        return self._captured[length](values, *cells)
