"""The local-global memory: writing (Eq. 5, 6) and reading (Eq. 7, 8).

Written literally, Eq. 5 builds a (B, N, P, D) tensor. It factorises exactly, since the gate o_np is one number:

    mean_p( o_np c_p + (1 - o_np) m_n )  =  (o @ c)_n / P  +  (1 - mean_p o_np) m_n

and W_c [v, a] = W_v v + W_a a, so W_v v is computed for a whole chunk of frames before the recurrence begins. So is
every other part that needs no local memory: what a chunk finds in the global cells, and the gate's keys W_o c. A key is
linear in its candidate, so both travel side by side ("keyed", 2 D wide), and a map that adds to the candidate, followed
by W_o, adds to the key.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from einops import rearrange, repeat
from torch import Tensor, nn
from torch.nn import functional as F

from locater.compute.pooling import pooled
from locater.model.kernels.fused_write import can_fuse, fused_write
from locater.model.place import PlaceEmbedding
from locater.model.transformer import attend

WriteRule = Literal["paper", "sum", "compete"]


class WriteController(nn.Module):
    """Writes one frame's patches into memory cells.

    `paper` is Eq. 5 to the letter. `sum` replaces the mean over patches by a sum and normalises, as the authors'
    released code does. `compete` lets each patch choose its cells by a softmax over the cells, so that a write is
    neither averaged away nor diluted by 1/P; see docs/deviations.md for what each can learn.
    """

    def __init__(self, width: int, rule: WriteRule, heads: int) -> None:
        super().__init__()
        self.rule = rule
        self.heads = heads
        self.from_values = nn.Linear(width, width, bias=False)  # W_v, the left half of W_c
        self.from_summary = nn.Linear(width, width, bias=False)  # W_a, the right half of W_c
        self.gate = nn.Linear(width, width, bias=False)  # W_o (transposed, as nn.Linear stores it)
        self.norm = nn.Identity() if rule == "paper" else nn.LayerNorm(width)
        if rule == "paper":
            # An initial gate logit of order one whatever the width; the printed form has no 1/sqrt(D).
            nn.init.normal_(self.gate.weight, std=1 / width)
        else:
            # From the start a patch writes itself, to the cells most like it: a place then keeps its own cells over
            # time, and a frame finds them again by likeness. Random projections stay at chance (memory_alone.py).
            nn.init.eye_(self.from_values.weight)
            nn.init.eye_(self.gate.weight)
            with torch.no_grad():
                self.from_summary.weight.mul_(0.1)

    def keyed(self, projected: Tensor) -> Tensor:
        """W_v v (..., D) and its key W_o W_v v side by side, (..., 2 D)."""
        return torch.cat([projected, self.gate(projected)], dim=-1)

    def keyed_map(self, weight: Tensor) -> Tensor:
        """A linear map (D, K) to candidates as one (2 D, K) to candidates and keys."""
        return torch.cat([weight, self.gate.weight @ weight])

    def forward(self, keyed: Tensor, from_summary: Tensor, cells: Tensor) -> Tensor:
        """The cells (B, N, D) after one frame, given `keyed` (B, P, 2 D), the keyed map of W_a and the cells before."""
        c, key, m = self._by_head(keyed, from_summary, cells)
        cells_after: Tensor = self.norm(self._written(self._gates(key, m), c, m))
        return cells_after

    def write(self, keyed: Tensor, from_summary: Tensor, cells: Tensor) -> Tensor:
        """The same, by kernels of its own where they are faster; where they are not, it may be compiled."""
        if can_fuse(keyed, from_summary, cells, self.rule, self.heads, self.norm):
            return fused_write(keyed, from_summary, cells, self.rule, self.heads, self.norm)
        cells_after: Tensor = self(keyed, from_summary, cells)
        return cells_after

    def sources(self, keyed: Tensor, from_summary: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Of the cells after one frame, how much each patch wrote of each, (B, N, P), and how much stayed, (B, N).

        Means over the heads, for people to look at: what was written is weighted as `forward` weighs it, and a cell
        that is normalised loses of the old and of the new alike.
        """
        c, key, m = self._by_head(keyed, from_summary, cells)
        gates = self._gates(key, m)
        if self.rule == "compete":
            taken, stayed = gates.transpose(-1, -2), torch.ones_like(m[..., 0])
        elif self.rule == "sum":
            taken, stayed = gates, (1 - gates).sum(-1)
        else:
            return gates.mean(1) / c.shape[-2], 1 - gates.mean((1, -1))
        size = self._written(gates, c, m).std(-1)  # (B, N): what the norm divides by
        return taken.mean(1) / size.unsqueeze(-1), stayed.mean(1) / size

    def _by_head(self, keyed: Tensor, from_summary: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Candidates and their keys (B, h, P, d), and cells (B, h, N, d)."""
        both = keyed + F.linear(cells.mean(1, keepdim=True), from_summary)  # c_p, Eq. 5 line 1, and W_o c_p
        candidate, candidate_key = both.chunk(2, dim=-1)
        c, key, m = (rearrange(x, "b n (h d) -> b h n d", h=self.heads) for x in (candidate, candidate_key, cells))
        return c, key, m

    def _gates(self, key: Tensor, m: Tensor) -> Tensor:
        """How far patches and cells open to each other: o_np (B, h, N, P), or of `compete` shares (B, h, P, N)."""
        if self.rule == "compete":
            # Over cells: patches compete for them. In this order, with the softmax over the last axis, because
            # torch.compile takes `softmax(m @ k.T, dim=-2) @ c` for attention and computes it over the wrong axis.
            return (key @ m.transpose(-1, -2) / math.sqrt(m.shape[-1])).softmax(dim=-1)  # (B, h, P, N)
        if self.rule == "sum":
            return (m @ key.transpose(-1, -2) / math.sqrt(m.shape[-1])).sigmoid()  # (B, h, N, P): c_p^T W_o m_n
        return (m @ key.transpose(-1, -2)).sigmoid()  # o_np, Eq. 5 line 2

    def _written(self, gate: Tensor, c: Tensor, m: Tensor) -> Tensor:
        """The cells (B, N, D) before any norm."""
        if self.rule == "compete":
            written = m + gate.transpose(-1, -2) @ c
        elif self.rule == "sum":
            written = gate @ c + (1 - gate).sum(-1, keepdim=True) * m
        else:
            written = gate @ c / c.shape[-2] + (1 - gate.mean(-1, keepdim=True)) * m  # Eq. 5 line 3, factorised
        return rearrange(written, "b h n d -> b n (h d)")


class MaskEmbedding(nn.Module):
    """s_t of Eq. 6: a small FCN over the soft mask, one vector a patch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = max(8, width // 12)
        self.layers = nn.Sequential(
            nn.Conv2d(1, hidden, 3, padding=1), nn.GELU(), nn.Conv2d(hidden, width, 3, padding=1)
        )

    def followed_by(self, linear: Tensor) -> tuple[Tensor, Tensor]:
        """The last convolution and a linear map (K, D) after it as one convolution: its weight and its bias."""
        last = self.layers[2]
        assert isinstance(last, nn.Conv2d) and last.bias is not None
        weight = torch.einsum("kd,dcij->kcij", linear, last.weight)
        # Channels last, so that what comes out lies patch by patch.
        return weight.contiguous(memory_format=torch.channels_last), linear @ last.bias

    def forward(self, soft_mask: Tensor, grid: tuple[int, int], weight: Tensor, bias: Tensor) -> Tensor:
        """(B, P, K) from a soft mask (B, h, w) of any resolution, pooled to the grid first; the last layer is given."""
        in_cells = pooled(soft_mask.unsqueeze(1), grid)
        hidden = self.layers[1](self.layers[0](in_cells))
        return rearrange(F.conv2d(hidden, weight, bias, padding=1), "b k r c -> b (r c) k")


class TimeEmbedding(nn.Module):
    """Says *when*: sinusoids of the seconds (for motion) and of the fraction of the video gone ("at the end")."""

    def __init__(self, width: int) -> None:
        super().__init__()
        seconds = 2 * math.pi / torch.logspace(math.log2(0.5), math.log2(512), 11, base=2)  # wavelengths 0.5 s to 512 s
        fractions = math.pi * torch.tensor([0.5, 1.0, 2.0, 4.0, 8.0])
        self.register_buffer("per_second", seconds, persistent=False)
        self.register_buffer("per_video", fractions, persistent=False)
        self.project = nn.Linear(2 * (len(seconds) + len(fractions)), width)

    def forward(self, times: Tensor) -> Tensor:
        """(B, T, D) from (B, T, 2); a negative fraction is unknown and adds nothing."""
        by_second = times[..., :1] * self.get_buffer("per_second")
        by_fraction = times[..., 1:] * self.get_buffer("per_video")
        is_known = (times[..., 1:] >= 0).to(times.dtype)
        waves = [by_second.sin(), by_second.cos(), by_fraction.sin() * is_known, by_fraction.cos() * is_known]
        embedded: Tensor = self.project(torch.cat(waves, dim=-1))
        return embedded


class ReadMLP(nn.Module):
    """Makes features of what a frame read, as a Transformer block does after its attention.

    Eq. 8 adds what was read to V as it is: place, time and looks of several moments on top of each other. The readout
    is linear in it, so "was here, is there" can hardly be read off. A network without memory has the same MLP, so that
    an ablation compares memories and not MLPs.
    """

    def __init__(self, width: int, memories: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(memories))
        self.from_read = nn.ModuleList(nn.Linear(width, width) for _ in range(memories))
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.last_norm = nn.LayerNorm(width)

    def taken_in(self, found: Tensor, memory: int) -> Tensor:
        """What is added to V for what the `memory`-th of them gave, (..., P, D)."""
        added: Tensor = self.from_read[memory](self.norms[memory](found))
        return added

    def forward(self, x: Tensor) -> Tensor:
        """G_t (B, P, D) from V_t with all that was taken in."""
        digested: Tensor = self.last_norm(x + self.mlp(self.norm(x)))
        return digested


@dataclass(frozen=True)
class LocalWrites:
    """Of a chunk's local writes (Eq. 6), all that needs neither cells nor masks."""

    keyed: Tensor  # W_v v and W_o W_v v (B, T, P, 2 D)
    from_summary: Tensor  # W_a, keyed (2 D, D)
    mask_weight: Tensor  # from the mask embedding's hidden maps to candidates and keys (2 D, C, 3, 3)
    mask_bias: Tensor  # (2 D,)


class LocalGlobalMemory(nn.Module):
    """M: global cells written once from the whole video, local cells written after every segmented frame.

    It holds no video's state: cells come in and go out. A capacity of 0 is an absent memory.
    """

    def __init__(
        self,
        width: int,
        global_cells: int,
        local_cells: int,
        rule: WriteRule,
        heads: int,
        time_embedding: bool,
        place_embedding: bool,
        read_mlp: bool = False,
        refine: Sequence[nn.Module] = (),
    ) -> None:
        super().__init__()
        self.heads = heads
        scale = 0.02 if rule == "paper" else 1.0  # normalised cells start at the size that they keep
        self.global_start = nn.Parameter(torch.randn(global_cells, width) * scale)
        self.local_start = nn.Parameter(torch.randn(local_cells, width) * scale)
        self.global_write = WriteController(width, rule, heads) if global_cells else None
        self.local_write = WriteController(width, rule, heads) if local_cells else None
        self.mask_embedding = MaskEmbedding(width) if local_cells else None
        self.from_mask = nn.Linear(width, width, bias=False) if local_cells else None  # W_c's third block, Eq. 6
        has_cells = bool(global_cells or local_cells)
        self.time = TimeEmbedding(width) if time_embedding and has_cells else None
        self.place = PlaceEmbedding(width) if place_embedding and has_cells else None
        if self.place is not None:  # every patch finds a cell of its own; with random ones a few cells take all
            with torch.no_grad():
                self.global_start.copy_(self.place.at(_spread(global_cells)))
                self.local_start.copy_(self.place.at(_spread(local_cells)))
        self.read_mlp = ReadMLP(width, memories=bool(global_cells) + bool(local_cells)) if read_mlp else None
        # Lets look-alikes be compared by what was read of each; empty in the paper.
        self.refine = nn.Sequential(*refine)

    def initial_state(self, batch: int) -> tuple[Tensor, Tensor]:
        """The learned first cells, (B, G, D) and (B, L, D)."""
        return (
            repeat(self.global_start, "n d -> b n d", b=batch),
            repeat(self.local_start, "n d -> b n d", b=batch),
        )

    def add_positions(self, values: Tensor, times: Tensor, grid: tuple[int, int]) -> Tensor:
        """V (B, T, P, D) with its time and place on it, as it is written and as it looks up."""
        if self.time is not None:
            values = values + self.time(times).unsqueeze(2).to(values.dtype)
        return values if self.place is None else values + self.place(grid).to(values.dtype)

    def project_local(self, positioned: Tensor) -> Tensor:
        """W_v v of the local write for a whole chunk, (B, T, P, D): it needs no memory."""
        if self.local_write is None:
            return positioned
        projected: Tensor = self.local_write.from_values(positioned)
        return projected

    def write_global(self, positioned: Tensor, cells: Tensor) -> Tensor:
        """Eq. 5: the global cells after the sampled frames (B, T', P, D), one after another."""
        write = self.global_write
        if write is None:
            return cells
        keyed = write.keyed(write.from_values(positioned))
        from_summary = write.keyed_map(write.from_summary.weight)
        for frame in keyed.unbind(1):
            cells = write.write(frame, from_summary, cells)
        return cells

    def prepare_local(self, projected: Tensor) -> LocalWrites | None:
        """The local writes of a chunk, W_v v (B, T, P, D); None where there is no local memory."""
        write = self.local_write
        if write is None or self.mask_embedding is None or self.from_mask is None:
            return None
        mask_weight, mask_bias = self.mask_embedding.followed_by(write.keyed_map(self.from_mask.weight))
        return LocalWrites(
            keyed=write.keyed(projected),
            from_summary=write.keyed_map(write.from_summary.weight),
            mask_weight=mask_weight,
            mask_bias=mask_bias,
        )

    def write_local(
        self, writes: LocalWrites, t: int, soft_mask: Tensor, grid: tuple[int, int], cells: Tensor
    ) -> Tensor:
        """Eq. 6: the local cells after the chunk's t-th frame is segmented, its soft mask (B, h, w)."""
        assert self.local_write is not None
        keyed = self.keyed_with_mask(writes, t, soft_mask, grid)
        return self.local_write.write(keyed, writes.from_summary, cells)

    def keyed_with_mask(self, writes: LocalWrites, t: int, soft_mask: Tensor, grid: tuple[int, int]) -> Tensor:
        """What `write_local` gives to the controller of the chunk's t-th frame, (B, P, 2 D)."""
        assert self.mask_embedding is not None
        seen: Tensor = self.mask_embedding(soft_mask, grid, writes.mask_weight, writes.mask_bias)
        return writes.keyed[:, t] + seen

    def read_global(self, values: Tensor, positioned: Tensor, cells: Tensor) -> Tensor:
        """V (B, T, P, D) of a chunk and what it finds in the global cells (Eq. 7, 8), for `read` to go on with."""
        if not cells.shape[1]:
            return values
        found = attend(positioned.flatten(1, 2), cells, cells, self.heads).view_as(values)
        return values + (found if self.read_mlp is None else self.read_mlp.taken_in(found, 0))

    def read(self, global_context: Tensor, positioned: Tensor, cells: Tensor) -> Tensor:
        """G_t (B, P, D), Eq. 7 and 8: what `read_global` gave of a frame, and what it finds in the local cells."""
        context = global_context
        if cells.shape[1]:
            found = attend(positioned, cells, cells, self.heads)
            context = context + (found if self.read_mlp is None else self.read_mlp.taken_in(found, -1))
        if self.read_mlp is not None:
            context = self.read_mlp(context)
        refined: Tensor = self.refine(context)
        return refined


def _spread(count: int) -> Tensor:
    """Places (N, 2) that cover the frame evenly, whatever their number (the R2 sequence)."""
    steps = torch.tensor([0.7548776662466927, 0.5698402909980532], dtype=torch.float64)
    return (torch.arange(1, count + 1).unsqueeze(-1) * steps % 1).float()


def summary(cells: Tensor) -> Tensor:
    """AP over the cells (Eq. 9), (B, D); zeros where a memory is absent, so that shapes stay."""
    return cells.mean(1) if cells.shape[1] else cells.new_zeros(cells.shape[0], cells.shape[2])
