"""The challenge entry in miniature, by one command: `python -m experiments.ensemble --out DIR --seeds 0,1,2`.

Of each seed a main network learns a composed world without two classes, an image variant (no memory, one fusion module)
learns single frames of all classes, and a grounding module learns to choose. All are asked about held-out videos: of
the classes that both know (`test`), and of those that the main one never saw (`heldout`). What is there is
not trained again.
"""

import argparse
import json
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

import locater
from experiments.ensemble.sources import make_packs
from locater.config import GroundingConfig
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.run.answering import answer
from locater.inference.ensemble.fusing import HOWS, fused, weights_of
from locater.inference.ensemble.scoring import Candidate, Scorer
from locater.records import Mask, Sample, Views
from locater.training.command import train_preset
from locater.training.grounding.command import GroundingRequest, train_grounding
from locater.worlds.composed import ComposedWorld

KINDS = ("appearance", "position")
SIZE = 64
VIEWS = Views((1.0, 1.25, 1.5), flip=True)  # chosen on the validation split, seed 0
NEAR = 0.05  # of IoU: so near to the best candidate is a right choice
COMMON = (
    "training.batch_size=24",
    "training.sentences=2",
    "training.clip_frames=2",
    "training.global_frames=0",
    "training.clip_strides=[0]",
    "training.optimizer=adamw",
    "training.learning_rate=2e-3",
    "training.warmup_steps=50",
    "training.max_gradient_norm=1.0",
    "training.dice_weight=1.0",
    "training.validation_videos=0",
    "training.ema_decay=0.99",
    "training.save_every=100000",
    "training.kind_weights={motion: 0, early_event: 0, late_event: 0, occlusion: 0, relation: 0, size: 0, absent: 0, "
    "appearance: 2, position: 1}",
)
IMAGE = (
    "memory.global_ratio=0",
    "memory.local_ratio=0",
    "fusion.modules=1",
    "training.clip_frames=1",
    "training.batch_size=32",
)


def main() -> None:
    """Run what is missing, and print and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--steps", type=int, default=400, help="of each member")
    parser.add_argument("--grounding-steps", type=int, default=200)
    parser.add_argument("--videos", type=int, default=40, help="of each split")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    packs = make_packs(asked.out)
    for seed in (int(each) for each in asked.seeds.split(",")):
        file = asked.out / f"results{seed}.json"
        if not file.exists():
            found = of_seed(asked.out, seed, packs, asked.steps, asked.grounding_steps, asked.videos)
            file.write_text(json.dumps(found, indent=2) + "\n")
        print(f"seed {seed}:", file.read_text())


def of_seed(
    out: Path, seed: int, packs: tuple[Path, Path], steps: int, grounding_steps: int, videos: int
) -> dict[str, object]:
    """Everything of one seed."""
    some, everything = packs
    started_at = time.process_time()
    main_network = _trained(out / f"main{seed}", some, seed, steps, ())
    image_network = _trained(out / f"image{seed}", everything, seed + 10, steps, IMAGE)
    found: dict[str, object] = {}
    folder = out / f"grounding{seed}"
    if not (folder / "chosen.json").exists():
        request = GroundingRequest(
            backbone=str(image_network),
            data=f"composed:{everything}",
            out=folder,
            weak=(str(main_network),),
            settings=GroundingConfig(width=64, frames=4),
            steps=grounding_steps,
            batch_size=8,
            held_out=12,
            kinds=KINDS,
            seed=seed,
            device="cpu",
        )
        choices = train_grounding(request, lambda step, loss: print(step, round(loss, 3), flush=True))
        (folder / "chosen.json").write_text(json.dumps(vars(choices)))
    found["grounding"] = json.loads((folder / "chosen.json").read_text())
    scorer = Scorer.from_folder(folder, "cpu")
    for split in ("test", "heldout"):
        found[split] = _asked(split, some, videos, main_network, image_network, scorer)
    found["cpu_seconds"] = round(time.process_time() - started_at)
    return found


def _trained(folder: Path, pack: Path, seed: int, steps: int, changes: Sequence[str]) -> Path:
    if not (folder / "checkpoint").exists():
        train_preset("tiny", f"composed:{pack}", folder, (f"training.steps={steps}", *COMMON, *changes), seed=seed)
    return folder / "checkpoint"


def _asked(split: str, pack: Path, videos: int, main_network: Path, image_network: Path, scorer: Scorer) -> object:
    world = ComposedWorld(pack, split, videos, SIZE, KINDS)
    samples = [world.load(info) for info in world.samples()]
    answers = {
        "main": _answers(main_network, samples, Views()),
        "main, views": _answers(main_network, samples, VIEWS),
        "image": _answers(image_network, samples, Views()),
        "image, views": _answers(image_network, samples, VIEWS),
    }
    rows: dict[str, list[float]] = {name: [score.j or 0.0 for score in scores] for name, scores in answers.items()}
    joined: dict[str, list[float]] = {how: [] for how in HOWS}
    right = []
    for place, sample in enumerate(samples):
        members = ("main, views", "image, views")
        candidates = [_masks(answers[name][place]) for name in members]
        scores = scorer.scores(sample.frames, sample.info.expression, candidates)
        own = [rows[name][place] for name in members]
        right.append(own[scores.index(max(scores))] >= max(own) - NEAR)
        for how in HOWS:
            joined[how].append(_j(fused(candidates, weights_of(scores, how)), sample))
    return {
        "videos": len(samples),
        **{name: _by_kind(values, samples) for name, values in (rows | joined).items()},
        "right choice": sum(right) / len(right),
        "best of both": _mean([max(pair) for pair in zip(rows["main, views"], rows["image, views"], strict=True)]),
    }


def _answers(checkpoint: Path, samples: Sequence[Sample], views: Views) -> list[SampleScore]:
    segmenter = locater.load(str(checkpoint), "cpu")
    return [answer(segmenter, [sample], views=views)[0] for sample in samples]


def _masks(score: SampleScore) -> Candidate:
    return {index: drawn.mask() for index, drawn in score.predictions.items()}


def _j(masks: Mapping[int, Mask], sample: Sample) -> float:
    each = []
    for index, true in sample.masks.items():
        union = (masks[index] | true).sum()
        each.append((masks[index] & true).sum() / union if union else 1.0)
    return float(_mean(each))


def _by_kind(values: Sequence[float], samples: Sequence[Sample]) -> dict[str, float]:
    pairs = list(zip(values, samples, strict=True))
    kinds = {kind: [value for value, sample in pairs if sample.info.kind == kind] for kind in KINDS}
    return {"all": _mean(values), **{kind: _mean(each) for kind, each in kinds.items()}}


def _mean(values: Sequence[float]) -> float:
    return round(float(sum(values)) / len(values), 4)


if __name__ == "__main__":
    main()
