"""What a trained network still knows when its memories are not written: which of two twins is marked.

    python -m experiments.memory_ablation [CHECKPOINT] [--videos 64] [--only global]

On whole test videos of the shapes world in which two objects look the same. How often the meant one is marked higher,
over all frames, at the middles of both; chance is .50. A memory that is not written keeps its learned first cells. This
is no ablation: the network was trained with both.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch

from experiments.machine import machine
from locater.inference.segmenter import load
from locater.model.locater import Locater
from locater.model.memory import LocalGlobalMemory
from locater.worlds.shapes import Scene, sample_scene, shapes_batches, video_seed

KINDS = ("motion", "early_event", "late_event")
BATCH = 16
UNWRITTEN = {  # what stands in for a write that is left out: the cells as they were
    "write_global": lambda _memory, _stamped, cells: cells,
    "write_local": lambda _memory, _writes, _t, _soft_mask, _grid, cells: cells,
}
ABLATIONS: dict[str, tuple[str, ...]] = {
    "both": (),
    "global": ("write_local",),
    "local": ("write_global",),
    "none": tuple(UNWRITTEN),
}


@contextmanager
def written(ablation: str) -> Iterator[None]:
    """While it lasts only those memories are written that `ablation` names."""
    with ExitStack() as stack:
        for method in ABLATIONS[ablation]:
            stack.enter_context(mock.patch.object(LocalGlobalMemory, method, UNWRITTEN[method]))
        yield


def right_twins(model: Locater, kind: str, videos: int) -> float:
    """The share of frames in which the meant twin has the higher logit."""
    batches = shapes_batches()
    right: list[torch.Tensor] = []
    for first in range(0, videos, BATCH):
        numbers = range(first, min(videos, first + BATCH))
        plan = batches.whole_videos(kind, numbers, "test", model.config.memory.interval)
        batch = batches.draw(plan, model.config.image_size)
        tokens = model.read(batch.expressions)
        logits = model(batch.frames, batch.times, batch.global_frames, batch.global_times, tokens).logits
        for scene, marked in zip((sample_scene(video_seed("test", kind, n)) for n in numbers), logits, strict=True):
            meant, twin = (at_middles(marked, scene, actor) for actor in (scene.referent, scene.twins[0]))
            right.append((meant > twin).float().mean())
    return float(torch.stack(right).mean())


def at_middles(logits: torch.Tensor, scene: Scene, actor: int | None) -> torch.Tensor:
    """A logit per frame (T,), where the actor's middle is."""
    assert actor is not None
    side = logits.shape[-1]
    x, y = (torch.tensor(scene.poses[actor, :, :2]).clamp(0, 0.999) * side).long().unbind(-1)
    return logits[torch.arange(len(logits)), y, x]


@torch.no_grad()
def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint", nargs="?", default="shapes")
    parser.add_argument("--videos", type=int, default=64)
    parser.add_argument("--only", choices=ABLATIONS)
    arguments = parser.parse_args()
    print(machine())
    model = load(arguments.checkpoint, "cpu").model
    print(f"{'written':<10}" + "".join(f"{kind:>14}" for kind in KINDS))
    for name in [arguments.only] if arguments.only else ABLATIONS:
        with written(name):
            shares = [right_twins(model, kind, arguments.videos) for kind in KINDS]
        print(f"{name:<10}" + "".join(f"{share:>14.3f}" for share in shares), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
