"""What a memory makes of a trained network's features: the memory alone is trained, with and without.

    python -m experiments.memory_on_features CHECKPOINT composed:PACK|shapes [--pixels 160] [--seeds 3]
        [--written both none] [--clips 12800] [--batch 96] [--steps 1500] [--rate 1e-3] [--workers 8] [--validation 128]

Each training is a stage on cached features of the one Trainer (`training.cached_clips`): everything up to V is fixed;
the memory and the head that tells what things do are trained from nothing, and the query from where it was. To go on
with a checkpoint's own memory, use a stage of a recipe: `locater train`. Printed for each kind of sentence, over 128
validation clips: the masks' IoU on a grid of cells of four pixels, and how often the meant thing is marked higher than
the one that the clip's other sentence means, for sentences on time its look-alike (chance 50 %); mean and deviation
over seeds.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from experiments.machine import machine
from locater.compute.upsample import upsample
from locater.config import TrainingConfig, parse_training
from locater.model.build import assemble
from locater.model.checkpoint import from_pretrained
from locater.model.locater import Locater
from locater.training.data.features import FeatureBatch, FeatureCache, features_of
from locater.training.data.sources import open_data
from locater.training.data.world import WorldData
from locater.training.inputs import FIXED_PARTS, FromFeatures
from locater.training.trainer import Progress, Trainer
from locater.video.overlap import iou
from locater.worlds.batches import ClipSettings

CLIPS_AT_ONCE = 32
# Which of the network's memories there are: the global one, the local one.
WRITTEN = {"both": (1, 1), "global": (1, 0), "local": (0, 1), "none": (0, 0)}
KINDS = ("motion", "early_event", "late_event", "occlusion", "appearance", "position")
KIND_WEIGHTS = {"motion": 2.6, "early_event": 2.6, "late_event": 2.6, "absent": 2.0, "appearance": 2.0, "size": 0.4,
                "position": 0.7, "relation": 0.5, "occlusion": 0.8}  # fmt: skip


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


def with_memory(trained: Locater, pixels: int, written: str, seed: int) -> Locater:
    """A network with the fixed part of `trained`, and a new memory."""
    torch.manual_seed(seed)
    memory = trained.config.memory
    has_global, has_local = WRITTEN[written]
    ratios = {"global_ratio": has_global * memory.global_ratio, "local_ratio": has_local * memory.local_ratio}
    memory = memory.model_copy(update=ratios)
    config = trained.config.model_copy(update={"image_size": pixels, "refiner": None, "memory": memory})
    model = assemble(config, None)
    own, given = model.state_dict(), trained.state_dict()
    kept = {name for name in own.keys() & given.keys() if own[name].shape == given[name].shape}
    kept -= {name for name in kept if name.startswith(("memory.", "motion_targets."))}
    model.load_state_dict(own | {name: given[name] for name in kept})
    return model


@torch.no_grad()
def held_out(model: Locater, data: WorldData, clips: int, workers: int) -> dict[str, FeatureCache]:
    """Validation clips of each kind, as the fixed part of the network sees them."""
    device = model.memory.local_start.device
    plans = DataLoader(Questions(data, clips), batch_size=None, num_workers=workers)
    precision = data.config.precision
    caches = (FeatureCache(clips, iter([features_of(model, data.draw(plan, device), precision)])) for plan in plans)
    return dict(zip(KINDS, caches, strict=True))


@torch.no_grad()
def scores(model: Locater, cache: FeatureCache) -> tuple[float, float]:
    """IoU of a kind's own sentences, and how often what they mean is marked higher than what the others mean."""
    network = FromFeatures(model.eval())
    logits, masks = [], []
    for batch in _batches(cache, model.memory.local_start.device):
        height, width = batch.masks.shape[-2:]
        logits.append(upsample(network(batch).logits.float(), (height, width))[0::2])
        masks.append(batch.masks > 0.5)
    found, truth = torch.cat(logits), torch.cat(masks)
    meant, other = truth[0::2], truth[1::2]
    sizes = [mask.sum((-2, -1)) for mask in (meant, other)]
    levels = [
        (found * mask).sum((-2, -1)) / size.clamp(min=1) for mask, size in zip((meant, other), sizes, strict=True)
    ]
    both_seen = (sizes[0] > 0) & (sizes[1] > 0)
    return float(iou(found > 0, meant).mean()), float((levels[0] > levels[1])[both_seen].float().mean())


def _batches(cache: FeatureCache, device: torch.device) -> Iterator[FeatureBatch]:
    return map(cache.draw, torch.split(torch.arange(cache.clips, device=device), CLIPS_AT_ONCE))


def told_now_and_then(at: Progress) -> None:
    """Print the loss every 250 steps."""
    if at.step % 250 == 0:
        print(f"  {at.step}: loss {at.loss:.4f}", flush=True)


def spread(values: list[float]) -> str:
    """Mean and deviation in per cent."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{100 * statistics.fmean(values):.1f} ± {100 * deviation:.1f}"


def stage(asked: argparse.Namespace, trained: Locater) -> TrainingConfig:
    """The stage that every memory goes through."""
    fixed = (*FIXED_PARTS, "auxiliary")
    settings: dict[str, Any] = {
        "cached_clips": asked.clips,
        "steps": asked.steps,
        "batch_size": asked.batch,
        "learning_rate": asked.rate,
        "warmup_steps": 100,
        "optimizer": "adamw",
        "weight_decay": 0.05,
        "max_gradient_norm": 1.0,
        "sentences": 2,
        "clip_frames": 8,
        "clip_strides": [0],
        "global_frames": 0,
        "is_fine": False,
        "dice_weight": 1.0,
        "motion_target_weight": 20.0,
        "flip": 0.0,
        "rates": {name: 0.0 for name, _ in trained.named_children() if name in fixed},
        "kind_weights": KIND_WEIGHTS,
        "precision": "bf16",
        "cuda_graph": True,
        "validation_videos": 0,
        "save_every": asked.steps,
    }
    return parse_training(settings, "experiment")


def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("data", help="composed:PACK or shapes")
    parser.add_argument("--pixels", type=int, help="a side of the frames; the network's own by default")
    parser.add_argument("--clips", type=int, default=12800)
    parser.add_argument("--batch", type=int, default=96, help="clips of a step, two sentences each")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--validation", type=int, default=128, help="clips of each kind")
    parser.add_argument("--written", nargs="+", choices=WRITTEN, default=["both", "none"])
    asked = parser.parse_args()
    print(machine())
    trained = from_pretrained(asked.checkpoint)
    config = stage(asked, trained)
    pixels = asked.pixels or trained.config.image_size
    data = open_data(asked.data, pixels, config, trained.config.memory.interval)
    if not isinstance(data, WorldData):
        parser.error("only worlds know what things do: composed:PACK or shapes")
    questions: dict[str, FeatureCache] = {}
    for written in asked.written:
        found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        for seed in range(asked.seeds):
            with tempfile.TemporaryDirectory() as folder:
                model = with_memory(trained, pixels, written, seed)
                trainer = Trainer(model, data, config, Path(folder), seed=seed, workers=asked.workers)
                trainer.run(told_now_and_then)
            questions = questions or held_out(trainer.model.eval(), data, asked.validation, asked.workers)
            for kind, cache in questions.items():
                found[kind].append(scores(trainer.model, cache))
            told = ", ".join(f"{kind} {of[-1][0]:.3f} {of[-1][1]:.3f}" for kind, of in found.items())
            print(f"{written}, seed {seed}: {told}", flush=True)
        print("| written | " + " | ".join(KINDS) + " |")
        for part, name in enumerate(("IoU", "the right one of two")):
            told = " | ".join(spread([score[part] for score in found[kind]]) for kind in KINDS)
            print(f"| {written}, {name} | {told} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
