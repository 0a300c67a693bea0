"""Times a training step of the `shapes` preset on a GPU, captured and op by op, and the drawing of its frames.

    python -m experiments.training_step [--set SETTING ...]

Checks first that the captured step gives the same losses as the plain one. Utilisation is the step's floating-point
operations (matrix products and convolutions, forward and backward) over its time and over the rate of a large bf16
matrix product measured here.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from experiments.machine import machine
from locater.config import parse_changes, preset, training_stages
from locater.model.build import build
from locater.training.command import with_vocabulary
from locater.training.data.sources import open_data
from locater.training.prefetch import PrefetchedBatches
from locater.training.trainer import Trainer
from locater.worlds.batches import BatchPlan
from locater.worlds.shapes import SceneBatch

STEPS_COMPARED = 4
STEPS_TIMED = 10


def made(settings: list[str], cuda_graph: bool) -> tuple[Trainer, PrefetchedBatches, BatchPlan[SceneBatch]]:
    """A trainer, the batches of one plan for ever, and that plan."""
    changes = parse_changes([*settings, f"training.cuda_graph={str(cuda_graph).lower()}", "training.flip=0.0"])
    config, training = preset("shapes", changes), training_stages("shapes", changes)[-1]
    data = open_data("shapes", config.image_size, training, config.memory.interval)
    model = build(with_vocabulary(config, data.words()), seed=0)
    trainer = Trainer(model, data, training, Path(tempfile.mkdtemp()))
    trainer.model.train()
    plan = data.plan(range(training.batch_size), 1.0)
    return trainer, trainer.batches(repeat(plan), 0), plan


def milliseconds(work: Callable[[], object], times: int) -> float:
    """One run's share of the time of several, after the GPU has finished them all."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(times):
        work()
    torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - began) / times


def matrix_rate() -> float:
    """Operations per second of a large bf16 matrix product."""
    side = 8192
    a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    milliseconds(lambda: a @ b, 3)
    return float(2 * side**3 / (milliseconds(lambda: a @ b, 10) / 1e3))


def main() -> int:
    """0 when the captured and the plain step agree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", dest="settings", action="append", default=[])
    settings: list[str] = parser.parse_args().settings
    print(machine())
    if not torch.cuda.is_available():
        print("This benchmark needs a CUDA device.")
        return 2
    losses: dict[bool, list[float]] = {}
    times: dict[bool, float] = {}
    operations = frames = 0
    for is_graphed in (False, True):
        trainer, batches, plan = made(settings, is_graphed)
        losses[is_graphed] = [float(trainer._step(batches, step)["loss"]) for step in range(STEPS_COMPARED)]
        if not is_graphed:
            with FlopCounterMode(display=False) as counter:
                trainer._step(batches, STEPS_COMPARED)
            operations = counter.get_total_flops()
            frames = plan.indices.numel()
            drawn = milliseconds(lambda: trainer.data.draw(plan, trainer.accelerator.device), 5)  # noqa: B023
            print(f"drawing: {1e3 * frames / drawn:,.0f} frames/s at {trainer.model.config.image_size} pixels")
        times[is_graphed] = milliseconds(lambda: trainer._step(batches, STEPS_COMPARED), STEPS_TIMED)  # noqa: B023
    rate = matrix_rate()
    print(f"matrix ceiling: {rate / 1e12:.0f} TFLOP/s; a step: {operations / 1e12:.2f} TFLOP over {frames} frames")
    for is_graphed, name in ((False, "op by op"), (True, "captured")):
        share = operations / (times[is_graphed] / 1e3) / rate
        print(f"{name:<10}{times[is_graphed]:>9.1f} ms  {share:>6.1%}  losses {losses[is_graphed]}")
    agree = torch.allclose(torch.tensor(losses[False]), torch.tensor(losses[True]), rtol=5e-3)
    print("the captured step agrees" if agree else "the captured step DISAGREES")
    return int(not agree)


if __name__ == "__main__":
    sys.exit(main())
