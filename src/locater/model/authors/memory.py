"""Their memories: filled with the first frames' features, then updated by gates of eight heads, and read together.

A state has one size from the first frame on: cells are (B, N, D + 1), and the last number is 1 in a cell that is
filled. What their code decides by the number of cells is decided here by selection, so that shapes stay.
"""

import math

import torch
from einops import rearrange
from torch import Tensor, nn
from torch.nn import functional as F

from locater.model.transformer import attend

HEADS = 8


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Two linear layers around a GELU."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.GELU(), nn.Linear(hidden, outputs))


class CellWriter(nn.Module):
    """Writes one frame into cells; with `is_local` the candidates are normalised."""

    def __init__(self, width: int, is_local: bool) -> None:
        super().__init__()
        self.candidate = mlp(2 * width, 4 * width, width)
        self.candidate_norm = nn.LayerNorm(width) if is_local else nn.Identity()
        self.gate_of_patch = nn.Linear(width, width)
        self.gate_of_cell = nn.Linear(width, width)
        self.kept = mlp(width, 4 * width, width)
        self.written = mlp(width, 4 * width, width)
        self.frame_norm = nn.LayerNorm(width)
        self.cell_norm = nn.LayerNorm(width)

    def forward(self, frame: Tensor, stored: Tensor) -> Tensor:
        """Stored cells (B, N, D + 1) after a frame (B, P, D): appended while there is room, then updated."""
        frame = self.frame_norm(frame)
        cells, is_filled = stored[..., :-1], stored[..., -1:]
        patches, size = frame.shape[1], stored.shape[1]
        count = is_filled.sum(1, keepdim=True)  # (B, 1, 1)
        place = torch.arange(size, device=frame.device).view(1, -1, 1) - count  # of a cell, among the new ones
        is_new = (place >= 0) & (place < patches)
        new = torch.take_along_dim(frame, place.clamp(0, patches - 1).long(), dim=1)
        appended = torch.cat([torch.where(is_new, new, cells), torch.where(is_new, 1.0, is_filled)], dim=-1)
        whole = torch.where(is_filled > 0, cells, mean_cell(stored).unsqueeze(1))
        updated = F.pad(self._updated(frame, whole), (0, 1), value=1.0)
        return torch.where(count + patches <= size, appended, updated)

    def _updated(self, frame: Tensor, cells: Tensor) -> Tensor:
        """(B, N, D): the sum of what patches write, through an MLP, and the mean of what each leaves of a cell."""
        around = cells.mean(1, keepdim=True).expand_as(frame)
        candidate = self.candidate_norm(self.candidate(torch.cat([frame, around], dim=-1)))
        asked, offered, held, given = (
            rearrange(x, "b n (h d) -> b h n d", h=HEADS)
            for x in (self.gate_of_patch(candidate), self.gate_of_cell(cells), self.kept(cells), candidate)
        )
        gate = (asked @ offered.transpose(-1, -2) / math.sqrt(asked.shape[-1])).sigmoid()  # (B, h, P, N)
        written = rearrange(gate.transpose(-1, -2) @ given, "b h n d -> b n (h d)")
        left = rearrange((1 - gate.mean(2)).unsqueeze(-1) * held, "b h n d -> b n (h d)")
        updated: Tensor = self.cell_norm(self.written(written) + left)
        return updated


def mean_cell(stored: Tensor) -> Tensor:
    """(B, D): the mean of the filled cells."""
    is_filled = stored[..., -1:]
    return (stored[..., :-1] * is_filled).sum(1) / is_filled.sum(1).clamp(min=1)


class AuthorsMemory(nn.Module):
    """Both memories. It holds no video's state: cells come in and go out."""

    def __init__(self, width: int, global_cells: int, local_cells: int) -> None:
        super().__init__()
        self.sizes = (global_cells, local_cells)
        self.global_write = CellWriter(width, is_local=False)
        self.local_write = CellWriter(width, is_local=True)
        self.mask_embedding = nn.Conv2d(1, width, 3, padding=1)
        self.to_query, self.to_key, self.to_value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    @property
    def local_start(self) -> Tensor:
        """A tensor on the memory's device and in its precision."""
        return self.out.weight

    def initial_state(self, batch: int) -> tuple[Tensor, Tensor]:
        """Empty cells, (B, G, D + 1) and (B, L, D + 1)."""
        width = self.out.in_features + 1
        first, second = (self.out.weight.new_zeros(batch, size, width) for size in self.sizes)
        return first, second

    def add_positions(self, values: Tensor, times: Tensor, grid: tuple[int, int]) -> Tensor:  # noqa: ARG002
        """V as it is."""
        return values

    def project_local(self, positioned: Tensor) -> Tensor:
        """V as it is."""
        return positioned

    def write_global(self, positioned: Tensor, cells: Tensor) -> Tensor:
        """The global cells after the sampled frames (B, T', P, D), one after another."""
        for frame in positioned.unbind(1):
            cells = self.global_write(frame, cells)
        return cells

    def write_local(self, values: Tensor, logits: Tensor, grid: tuple[int, int], cells: Tensor) -> Tensor:
        """The local cells after a frame (B, P, D) with its mask's logits (B, h, w), of which they see the hard mask."""
        hard = (logits > 0).to(values.dtype).unsqueeze(1)
        seen = F.interpolate(self.mask_embedding(hard), grid, mode="bilinear", align_corners=False)
        written: Tensor = self.local_write(values + rearrange(seen, "b d r c -> b (r c) d"), cells)
        return written

    def read(self, values: Tensor, global_cells: Tensor, local_cells: Tensor) -> Tensor:
        """G_t (B, P, D): one attention over both memories; before any is written, the frame is its own local one."""
        is_first = (local_cells[..., -1].sum(1, keepdim=True) == 0).expand(-1, values.shape[1])
        keys = torch.cat([values, local_cells[..., :-1], global_cells[..., :-1]], dim=1)
        is_filled = torch.cat([is_first, local_cells[..., -1] > 0, global_cells[..., -1] > 0], dim=1)
        found = attend(self.to_query(values), self.to_key(keys), self.to_value(keys), HEADS, ~is_filled)
        context: Tensor = self.norm(self.out(found))
        return context

    def summary(self, values: Tensor, global_cells: Tensor, local_cells: Tensor) -> Tensor:
        """(B, 3 D): the means of the frame, of the local and of the global cells."""
        own = values.mean(1)
        is_first = local_cells[..., -1].sum(1, keepdim=True) == 0
        local = torch.where(is_first, own, mean_cell(local_cells))
        return torch.cat([own, local, mean_cell(global_cells)], dim=-1)
