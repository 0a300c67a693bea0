"""What a memory makes of a trained network's features: the memory alone is trained, with and without.

    python -m experiments.memory_on_features CHECKPOINT composed:PACK|shapes [--pixels 160] [--seeds 3]
        [--written both none] [--clips 12800] [--rows 192] [--steps 1500] [--rate 1e-3] [--workers 8] [--go-on]
        [--validation 128] [--save FOLDER]

Everything up to V is fixed, so V of `--clips` clips of a world (8 frames of the whole video, two sentences each) is
computed once and kept on the device: at 320 pixels 1.6 MB per sentence. On it the memory and the head that tells what
things do are trained from nothing, and the query from where it was. Printed for each kind of sentence, over 128
validation clips: the masks' IoU on a grid of cells of four pixels, and how often the meant thing is marked higher than
the one that the clip's other sentence means, for sentences on time its look-alike (chance 50 %); mean and deviation
over seeds. With `--go-on` the memory begins as it is in the checkpoint. `--save` keeps the first network, whole.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from experiments.machine import machine
from locater.config import TrainingConfig, parse_training
from locater.model.build import assemble
from locater.model.checkpoint import from_pretrained, save_pretrained
from locater.model.locater import ClipFeatures, Locater
from locater.model.upsample import upsample
from locater.records import Batch, Words
from locater.training.data.batches import training_plans
from locater.training.data.sources import open_data
from locater.training.data.world import WorldData
from locater.training.graphed_step import GraphedLosses
from locater.training.losses import cross_entropy, dice, motion_target_error
from locater.training.optimizer import freeze, make_optimizer, polynomial
from locater.video.overlap import iou
from locater.worlds.batches import ClipSettings

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CELL = 4  # pixels per side of a cell in which masks are compared
CLIPS_AT_ONCE, VALIDATION_CLIPS = 64, 128
DOINGS_WEIGHT = 20.0
# Which of the network's memories there are: the global one, the local one.
WRITTEN = {"both": (1, 1), "global": (1, 0), "local": (0, 1), "none": (0, 0)}
KINDS = ("motion", "early_event", "late_event", "occlusion", "appearance", "position")
KIND_WEIGHTS = {"motion": 2.6, "early_event": 2.6, "late_event": 2.6, "absent": 2.0, "appearance": 2.0, "size": 0.4,
                "position": 0.7, "relation": 0.5, "occlusion": 0.8}  # fmt: skip
FIXED = ("visual", "text", "recognition", "fusion", "auxiliary")


@dataclass(frozen=True)
class Rows:
    """Sentences to clips, everything that needs no memory computed."""

    values: Tensor  # V (R, T, P, D) in fp16
    words: Tensor  # (R, W, D)
    is_padding: Tensor  # (R, W)
    times: Tensor  # (R, T, 2)
    motion_targets: Tensor  # (R, T, C + 1, rows, columns)
    masks: Tensor  # (R, T, h, w) in 0 to 255

    def at(self, places: Tensor) -> "Rows":
        """Some of them."""
        return Rows(*(getattr(self, field.name)[places] for field in fields(self)))


def joined(parts: list[Rows]) -> Rows:
    """All rows of the parts."""
    return Rows(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Rows)))


class Questions(TorchDataset[Any]):
    """Validation clips of each kind, one batch plan after another."""

    def __init__(self, data: WorldData, clips: int) -> None:
        self.data, self.clips = data, clips

    def __len__(self) -> int:
        return len(KINDS)

    def __getitem__(self, number: int) -> Any:
        data = self.data
        settings = ClipSettings(
            clip_frames=data.config.clip_frames,
            global_frames=0,
            strides=data.config.clip_strides,
            kind_weights={kind: float(kind == KINDS[number]) for kind in data.kinds},
            sentences=2,
            split="validation",
        )
        return data.batches.clips(range(self.clips), settings)


@torch.no_grad()
def encoded(model: Locater, batch: Batch) -> Rows:
    """What the fixed part of the network makes of a batch."""
    with torch.autocast(DEVICE.type, torch.bfloat16):
        words = model.text(model.read(batch.expressions))
        clip = model.fuse(model.visual(batch.frames), batch.times, words)
    assert batch.motion_targets is not None
    batch_size, frames, channels = batch.motion_targets.shape[:3]
    pooled = F.adaptive_avg_pool2d(batch.motion_targets.flatten(0, 1), clip.grid).view(
        batch_size, frames, channels, *clip.grid
    )
    side = batch.masks.shape[-1] // CELL
    return Rows(
        values=clip.values.half(),
        words=words.features.half(),
        is_padding=words.is_padding,
        times=batch.times.repeat_interleave(2, 0),
        motion_targets=pooled.half().repeat_interleave(2, 0),
        masks=(F.adaptive_avg_pool2d(batch.masks, side) * 255).round().byte(),
    )


def predicted(model: Locater, rows: Rows, words: Words) -> tuple[Tensor, Tensor]:
    """The masks' logits (R, T, h, w), and what the head tells, by the network's own steps."""
    grid = (rows.motion_targets.shape[-2], rows.motion_targets.shape[-1])
    with torch.autocast(DEVICE.type, torch.bfloat16):
        values = rows.values.float()
        positioned = model.memory.add_positions(values, rows.times, grid)
        clip = ClipFeatures(values, positioned, model.memory.project_local(positioned), (), grid, ())
        state = model.initial_state(words)
        if state.global_cells.shape[1]:
            state = model.write_global(positioned, state)
        frames, _ = model.decode_clip(clip, words, state)
        assert model.motion_targets is not None
        told = model.motion_targets(torch.stack([frame.context for frame in frames], 1)).unflatten(2, grid)
    logits = torch.stack([frame.logits for frame in frames], 1).float()
    return upsample(logits, (rows.masks.shape[-2], rows.masks.shape[-1])), told


def words_of(rows: Rows) -> Words:
    """The sentences as the network takes them."""
    count = len(rows.words)
    owners = torch.zeros(rows.is_padding.shape, dtype=torch.int32, device=DEVICE)
    return Words(rows.words.float(), rows.is_padding, owners, ("",) * count, ((),) * count)


def with_memory(trained: Locater, pixels: int, written: str, seed: int, goes_on: bool = False) -> Locater:
    """A network with the fixed part of `trained`, and a new memory or, as far as it fits, the trained one."""
    torch.manual_seed(seed)
    memory = trained.config.memory
    has_global, has_local = WRITTEN[written]
    ratios = {"global_ratio": has_global * memory.global_ratio, "local_ratio": has_local * memory.local_ratio}
    memory = memory.model_copy(update=ratios)
    config = trained.config.model_copy(update={"image_size": pixels, "refiner": None, "memory": memory})
    model = assemble(config, None)
    own, given = model.state_dict(), trained.state_dict()
    fitting = {name for name in own.keys() & given.keys() if own[name].shape == given[name].shape}
    kept = fitting if goes_on else {name for name in fitting if not name.startswith(("memory.", "motion_targets."))}
    model.load_state_dict(own | {name: given[name] for name in kept})
    model.decoder.is_fine = False
    return model.to(DEVICE)


def train(model: Locater, rows: Rows, config: TrainingConfig, seed: int) -> None:
    """Fit memory, query and head to the rows."""
    freeze(model, config)
    model.train()
    optimizer = make_optimizer(model, config)
    full_rates = [group["lr"] for group in optimizer.param_groups]
    rate = polynomial(config.steps or 1, config.warmup_steps, config.power)
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def losses(rows: Any, words: Any) -> dict[str, Tensor]:
        logits, told = predicted(model, rows, words)
        truth = rows.masks.float() / 255
        masks = cross_entropy(logits, truth).mean() + dice(logits.sigmoid(), truth).mean()
        motion_targets = motion_target_error(told, rows.motion_targets.float())
        return {
            "loss": masks + config.motion_target_weight * motion_targets,
            "masks": masks,
            "motion_targets": motion_targets,
        }

    graphed = GraphedLosses(losses, model) if DEVICE.type == "cuda" else None
    draw = torch.Generator(device=DEVICE).manual_seed(seed)
    started = time.monotonic()
    for step in range(config.steps or 1):
        for group, full in zip(optimizer.param_groups, full_rates, strict=True):
            group["lr"] = full * rate(step)
        some: Any = rows.at(torch.randint(len(rows.values), (config.batch_size,), device=DEVICE, generator=draw))
        words: Any = words_of(some)
        if graphed is not None:
            terms = graphed(some, words)
        else:
            terms = losses(some, words)
            terms["loss"].backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=graphed is None)
        if (step + 1) % 250 == 0:
            told = ", ".join(f"{name} {float(value):.4f}" for name, value in terms.items())
            print(f"  {step + 1}: {told}; {1e3 * (time.monotonic() - started) / (step + 1):.0f} ms", flush=True)


@torch.no_grad()
def scores(model: Locater, rows: Rows) -> tuple[float, float]:
    """IoU of a kind's own sentences, and how often what they mean is marked higher than what the others mean."""
    model.eval()
    parts = torch.split(torch.arange(len(rows.values), device=DEVICE), CLIPS_AT_ONCE)
    logits = torch.cat([predicted(model, some, words_of(some))[0] for some in map(rows.at, parts)])[0::2]
    meant, other = (rows.masks[first::2] > 127 for first in (0, 1))
    sizes = [mask.sum((-2, -1)) for mask in (meant, other)]
    levels = [
        (logits * mask).sum((-2, -1)) / size.clamp(min=1) for mask, size in zip((meant, other), sizes, strict=True)
    ]
    both_seen = (sizes[0] > 0) & (sizes[1] > 0)
    return float(iou(logits > 0, meant).mean()), float((levels[0] > levels[1])[both_seen].float().mean())


def spread(values: list[float]) -> str:
    """Mean and deviation in per cent."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.fmean(values):.1f} ± {100 * deviation:.1f}"


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("data", help="composed:PACK or shapes")
    parser.add_argument("--pixels", type=int, help="a side of the frames; the network's own by default")
    parser.add_argument("--clips", type=int, default=12800)
    parser.add_argument("--rows", type=int, default=192)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--validation", type=int, default=VALIDATION_CLIPS)
    parser.add_argument("--written", nargs="+", choices=WRITTEN, default=["both", "none"])
    parser.add_argument("--go-on", action="store_true")
    parser.add_argument("--save", type=Path)
    return parser


def training_settings(asked: argparse.Namespace, trained: Locater) -> dict[str, Any]:
    """Of the memory alone, on clips of the whole video with two sentences each."""
    return {
        "steps": asked.steps,
        "batch_size": asked.rows,
        "learning_rate": asked.rate,
        "warmup_steps": 100,
        "optimizer": "adamw",
        "weight_decay": 0.05,
        "sentences": 2,
        "clip_frames": 8,
        "clip_strides": [0],
        "global_frames": 0,
        "motion_target_weight": DOINGS_WEIGHT,
        "rates": {name: 0.0 for name, _ in trained.named_children() if name in FIXED},
        "kind_weights": KIND_WEIGHTS,
    }


def main() -> int:
    """0, always: the numbers are the result."""
    parser = options()
    asked = parser.parse_args()
    print(machine())
    trained = from_pretrained(asked.checkpoint)
    settings = training_settings(asked, trained)
    config = parse_training(settings, "benchmark")
    pixels = asked.pixels or trained.config.image_size
    data = open_data(asked.data, pixels, config, trained.config.memory.interval)
    if not isinstance(data, WorldData):
        parser.error("only worlds know what things do: composed:PACK or shapes")
    fixed = with_memory(trained, pixels, "none", 0).eval()
    started = time.monotonic()

    def rows_of(plans: Iterator[Any]) -> list[Rows]:
        return [encoded(fixed, data.draw(plan, DEVICE)) for plan in plans]

    at_once = parse_training(settings | {"batch_size": min(CLIPS_AT_ONCE, asked.clips)}, "benchmark")
    batches = asked.clips // at_once.batch_size
    rows = joined(rows_of(training_plans(data, at_once, 3, batches, 0, 0, 1, asked.workers)))
    questions = DataLoader(Questions(data, asked.validation), batch_size=None, num_workers=asked.workers)
    held_out = dict(zip(KINDS, rows_of(iter(questions)), strict=True))
    print(f"{len(rows.values)} rows in {time.monotonic() - started:.0f} s", flush=True)
    for written in asked.written:
        found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for seed in range(asked.seeds):
            model = with_memory(trained, pixels, written, seed, asked.go_on)
            train(model, rows, config, seed)
            for kind, asked_rows in held_out.items():
                found[kind].append(scores(model, asked_rows))
            told = ", ".join(f"{kind} {of[-1][0]:.3f} {of[-1][1]:.3f}" for kind, of in found.items())
            print(f"{written}, seed {seed}: {told}", flush=True)
            if asked.save is not None and (written, seed) == (asked.written[0], 0):
                save_pretrained(model, asked.save)
        print("| written | " + " | ".join(KINDS) + " |")
        for part, name in enumerate(("IoU", "the right one of two")):
            print(
                f"| {written}, {name} | " + " | ".join(spread([s[part] for s in found[k]]) for k in KINDS) + " |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
