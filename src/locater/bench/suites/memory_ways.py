"""Ways to run the memory module over a video: the network's own functions, on chunks or a frame at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from locater.compute.cuda_graph import CapturedGraph, TensorFunction
from locater.model.memory import LocalGlobalMemory

CHUNK = 64  # frames of a CUDA graph, at most


@dataclass(frozen=True)
class Way:
    """Two pure functions, both over a chunk of frames V (1, T, P, D)."""

    write_global: Callable[[Tensor, Tensor], tuple[Tensor]]  # V and global cells: the global cells after it
    decode_clip: Callable[
        [Tensor, Tensor, Tensor], tuple[Tensor, Tensor]
    ]  # V, both cells: G (1, T, P, D), local cells after

    @classmethod
    def of(cls, memory: LocalGlobalMemory) -> Self:
        """The network's own functions: what needs no recurrence is computed for the whole chunk."""
        return cls(
            lambda values, cells: (memory.write_global(values, cells),),
            lambda values, global_cells, local_cells: decode_clip(memory, values, global_cells, local_cells),
        )

    def frame_by_frame(self) -> "Way":
        """The same with chunks of one frame."""

        def write_global(values: Tensor, cells: Tensor) -> tuple[Tensor]:
            for frame in torch.split(values, 1, dim=1):
                (cells,) = self.write_global(frame, cells)
            return (cells,)

        def each(values: Tensor, global_cells: Tensor, local_cells: Tensor) -> tuple[Tensor, Tensor]:
            contexts = []
            for frame in torch.split(values, 1, dim=1):
                context, local_cells = self.decode_clip(frame, global_cells, local_cells)
                contexts.append(context)
            return torch.cat(contexts, dim=1), local_cells

        return Way(write_global, each)

    def captured(self) -> "Way":
        """The same as CUDA graphs, one for each length of chunk that comes."""
        return Way(_Graphs(self.write_global), _Graphs(self.decode_clip))  # type: ignore[arg-type]

    def run(
        self, values: Tensor, cells: tuple[Tensor, Tensor], interval: int, keep: list[Tensor] | None = None
    ) -> Tensor:
        """The local cells after a whole video; each chunk's G is added to `keep`, where that is given."""
        global_cells, local_cells = cells
        sampled = values[:, ::interval]
        for some in torch.split(sampled, chunk_length(sampled.shape[1]), dim=1):
            (global_cells,) = self.write_global(some, global_cells)
        for some in torch.split(values, chunk_length(values.shape[1]), dim=1):
            contexts, local_cells = self.decode_clip(some, global_cells, local_cells)
            if keep is not None:
                keep.append(contexts.clone())
        return local_cells


def decode_clip(
    memory: LocalGlobalMemory, values: Tensor, global_cells: Tensor, local_cells: Tensor
) -> tuple[Tensor, Tensor]:
    """G of a chunk and the local cells after it: read (Eq. 7, 8), and write (Eq. 6 without the mask).

    Without the mask no write waits for a read, so the writes go first, one after another, and all frames then read at
    once, each the cells that were before it.
    """
    write = memory.local_write
    assert write is not None
    global_context = memory.read_global(values, values, global_cells)
    keyed = write.keyed(memory.project_local(values))
    from_summary = write.keyed_map(write.from_summary.weight)
    before = []
    for frame in keyed.unbind(1):
        before.append(local_cells)
        local_cells = write.write(frame, from_summary, local_cells)
    cells = torch.stack(before, dim=1)
    contexts = memory.read(*(each.flatten(0, 1) for each in (global_context, values, cells)))
    return contexts.view_as(values), local_cells


def chunk_length(frames: int) -> int:
    """The longest chunk of at most `CHUNK` frames that divides the video, so that one CUDA graph does."""
    return next(length for length in range(min(frames, CHUNK), 0, -1) if frames % length == 0)


class _Graphs:
    """A chunk function as CUDA graphs, captured when a chunk of a new length comes."""

    def __init__(self, chunk: TensorFunction) -> None:
        self._chunk = chunk
        self._captured: dict[int, CapturedGraph] = {}

    def __call__(self, values: Tensor, *cells: Tensor) -> tuple[Tensor, ...]:
        length = values.shape[1]
        if length not in self._captured:
            self._captured[length] = CapturedGraph(self._chunk, values, *cells)
        return self._captured[length](values, *cells)
