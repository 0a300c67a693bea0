"""How a trained network uses its global memory: do patches find cells of their own, or do all crowd into a few?

    python -m experiments.memory_use [CHECKPOINT] [--videos 16]

On late-event videos of the shapes world's validation split. `shared` is the part of V's size that all patches of all
videos have in common; a cell counts as used when the patches of one frame give it a share of .3 or more in the mean
over heads. The second line is a memory as it is at the start of training, on the same V normalised a channel.
"""

import argparse
import sys

import torch
from einops import rearrange
from torch import Tensor

from experiments.machine import machine
from locater.inference.segmenter import load
from locater.model.build import build
from locater.model.fusion import ChannelNorm
from locater.model.locater import Locater
from locater.model.memory import LocalGlobalMemory
from locater.records import Batch
from locater.worlds.batches import ClipSettings
from locater.worlds.shapes import shapes_batches

USED = 0.3


def fused(model: Locater, batch: Batch) -> tuple[Tensor, tuple[int, int]]:
    """V (B, T, P, D) of the batch's frames, and its grid."""
    features = model.fuse(model.visual(batch.frames), batch.times, model.text(model.read(batch.expressions)))
    return features.values, features.grid


def cells_used(memory: LocalGlobalMemory, values: Tensor, times: Tensor, grid: tuple[int, int]) -> float:
    """How many cells the last frame's patches choose after all others were written, the mean over videos."""
    assert memory.global_write is not None
    positioned = memory.add_positions(values, times, grid)
    cells = memory.write_global(positioned[:, :-1], memory.initial_state(len(values))[0])
    keys = memory.global_write.gate(memory.global_write.from_values(positioned[:, -1]))
    m, k = (rearrange(x, "b n (h d) -> b h n d", h=memory.heads) for x in (cells, keys))
    share = (m @ k.mT / m.shape[-1] ** 0.5).softmax(dim=-2).mean(1).sum(-1)  # (B, N)
    return float((share > USED).float().sum(-1).mean())


@torch.no_grad()
def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", nargs="?", default="shapes")
    parser.add_argument("--videos", type=int, default=16)
    arguments = parser.parse_args()
    print(machine())
    model = load(arguments.checkpoint, "cpu").model
    batches = shapes_batches()
    settings = ClipSettings(
        clip_frames=8,
        global_frames=0,
        strides=(0,),
        kind_weights={"late_event": 1.0},
        split="validation",
    )
    batch = batches.draw(batches.clips(range(arguments.videos), settings), model.config.image_size)
    values, grid = fused(model, batch)
    shared = values.mean((0, 1, 2)).pow(2).mean().sqrt() / values.pow(2).mean().sqrt()
    print(f"V: {shared:.0%} of its size is shared by all patches of all videos")
    fresh = build(model.config, seed=0).memory
    centred = ChannelNorm(values.shape[-1])(values)
    total = model.config.global_cells
    for name, memory, v in (("trained", model.memory, values), ("at the start, centred", fresh, centred)):
        used = cells_used(memory, v, batch.times, grid)
        print(f"{name:<22} {used:5.1f} of {total} cells used by {grid[0] * grid[1]} patches")
    return 0


if __name__ == "__main__":
    sys.exit(main())
