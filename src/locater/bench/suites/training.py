"""A training step, op by op and in every faster or leaner way that gives the same losses, and the drawing of frames."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.clip import preset_config
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import measure
from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.visual.drop_path import DropPath
from locater.model.visual.recogniser import Recogniser
from locater.model.visual.refiner import Refiner
from locater.model.word_embedding import PretrainedEmbedding
from locater.training.data.sources import open_data
from locater.training.recipe import AverageConfig, parse_recipe
from locater.training.trainer import Trainer

PLAIN = "op by op"
STEPS_COMPARED = 4
LOSS_LIMIT = 5e-3  # of a loss: a graph may choose other kernels, and each step goes on from the last one's rounding
DATA = "shapes"
# Dropped paths, unknown classes, spoilt masks and forgotten words.
RANDOM_PARTS = (DropPath, Recogniser, Refiner, PretrainedEmbedding)
QUICK: dict[str, Any] = {"batch_size": 2, "clip_frames": 2, "global_frames": 2}
PRECISIONS = {"float32": "no", "bfloat16": "bf16", "float16": "fp16"}  # as training calls them


@dataclass(frozen=True)
class Way:
    """One way to take the same steps, and what its first steps lost."""

    trainer: Trainer
    step: Callable[[], object]
    losses: list[float]


def run(request: BenchRequest) -> Report:
    """Milliseconds of a step in each way, and what part of a matrix product's speed that is."""
    ways = _ways(request)
    plain = _made(request, {})
    with FlopCounterMode(display=False) as counter:
        plain.step()
    operations = counter.get_total_flops()
    rate = _matrix_rate(request)
    clips = plain.trainer.config.batch_size
    rows: list[Row] = [_row(PLAIN, plain, request, operations / rate, clips)]
    checks: list[Check] = []
    for name, changes in ways.items():
        way = _made(request, changes)
        pairs = zip(plain.losses, way.losses, strict=True)
        checks.append(Check(f"{name}: losses against {PLAIN}", max(abs(b - a) / abs(a) for a, b in pairs), LOSS_LIMIT))
        if checks[-1].holds:
            rows.append(_row(name, way, request, operations / rate, clips))
        else:
            rows.append({"way": f"{name} (disagrees)"})
    size = plain.trainer.config.image_size or plain.trainer.model.config.image_size
    stage = "the last stage" if request.stage is None else f"stage {request.stage}"
    return Report(
        name="training",
        title=f"a step of {stage} of {request.preset} on the shapes world, {clips} clips at {size} pixels, "
        f"{request.precision}",
        timed="one optimiser step, the drawing of its batch included: forward, backward, clipping and update. Matrix "
        "share: the step's floating-point operations (matrix products and convolutions, both passes) over its time, as "
        "a part of what a large matrix product reaches here.",
        columns=("way", "median_ms", "lowest_ms", "highest_ms", "clips/s", "matrix share"),
        chart=Bars("A training step", "ms", {row["way"]: row["median_ms"] for row in rows if "median_ms" in row}),
        rows=rows,
        checks=checks,
        notes=_notes(request, plain.trainer, operations, rate),
    )


def _ways(request: BenchRequest) -> dict[str, dict[str, Any]]:
    """Every other way by its name, with its training settings."""
    ways: dict[str, dict[str, Any]] = {"blocks recomputed": {"gradient_checkpointing": True}}
    if request.is_cuda and request.precision != "float16":  # which needs a gradient scaler, outside of any graph
        ways["CUDA graph"] = {"cuda_graph": True}
        if request.is_compiled:
            ways["compiled, CUDA graph"] = {"cuda_graph": True, "compile": True}
    return ways


def _made(request: BenchRequest, changes: dict[str, Any]) -> Way:
    """A new network and its trainer, after some steps on one batch that comes again and again."""
    network = preset_config(request)
    settings = {
        "steps": 1000,
        "flip": 0.0,
        "precision": PRECISIONS[request.precision],
        "cuda_graph": False,
        "compile": False,
        "gradient_checkpointing": False,
        **(QUICK if request.is_quick else {}),
        **changes,
    }
    config = _stage(request).model_copy(update=settings)
    data = open_data(DATA, config.image_size or network.image_size, config, network.memory.interval)
    trainer = Trainer(build(network, seed=0), data, config, Path(tempfile.gettempdir()))
    device = trainer.accelerator.device
    if device.type != request.device.type:
        raise LocaterError(f"Training runs on {device} here; choose --device {device.type}, or hide the GPU.")
    trainer.model.train()
    _still(trainer.model)
    batches = trainer.batches(repeat(next(trainer.inputs.plans(1, 0))), 0)
    losses = [float(trainer.step(batches, step)["loss"]) for step in range(STEPS_COMPARED)]
    return Way(trainer, lambda: trainer.step(batches, STEPS_COMPARED), losses)


def _stage(request: BenchRequest) -> TrainingConfig:
    """The stage that was asked for, by its number in the recipe, or the preset's last."""
    stages = parse_recipe(request.preset, {})
    number = len(stages) if request.stage is None else request.stage
    if number > len(stages):
        raise LocaterError(f"The preset {request.preset} has {len(stages)} stages; choose --stage 1 to {len(stages)}.")
    stage = stages[number - 1]
    if isinstance(stage, AverageConfig):
        raise LocaterError(f"Stage {number} of {request.preset} is an average; choose another.")
    if stage.cached_clips:
        raise LocaterError(f"Stage {number} of {request.preset} learns from features kept before it; choose another.")
    return stage


def _still(model: nn.Module) -> None:
    """Lets what leaves things out at random leave nothing out, so that losses can be compared; all else trains."""
    for part in model.modules():
        if isinstance(part, RANDOM_PARTS):
            part.training = False


def _row(name: str, way: Way, request: BenchRequest, shortest: float, clips: int) -> Row:
    timing = measure(way.step, request.device, request.repeats)
    return {
        "way": name,
        **timing.milliseconds(),
        "clips/s": clips / timing.median,
        "matrix share": shortest / timing.median,
    }


def _matrix_rate(request: BenchRequest) -> float:
    """Operations per second of a large matrix product."""
    side = 256 if request.is_quick else 8192 if request.is_cuda else 2048
    a, b = (torch.randn(side, side, device=request.device, dtype=request.dtype) for _ in range(2))
    return float(2 * side**3 / measure(lambda: a @ b, request.device, request.repeats).median)


def _notes(request: BenchRequest, trainer: Trainer, operations: int, rate: float) -> list[str]:
    plan: Any = trainer.data.plan(range(trainer.config.batch_size), 1.0)
    drawing = measure(lambda: trainer.data.draw(plan, request.device), request.device, request.repeats)
    frames = trainer.config.batch_size * (trainer.config.clip_frames + trainer.config.global_frames)
    notes = [
        f"A step is {operations / 1e12:.4g} TFLOP over {frames} frames; a large matrix product reaches "
        f"{rate / 1e12:.4g} TFLOP/s here.",
        f"Drawing alone: {frames / drawing.median:,.0f} frames/s.",
    ]
    if not request.is_cuda:
        notes.append("CUDA graphs need a CUDA device: here a step was measured op by op alone.")
    return notes
