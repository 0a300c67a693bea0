"""The challenge entry in miniature, by one command: `python -m experiments.ensemble --out DIR --seeds 0,1,2`.

Of each seed a main network learns a composed world without two classes, an image variant (no memory, one fusion module)
learns single frames of all classes, and a grounding module learns to choose, on cut-outs that neither was trained on.
All are asked about held-out videos: of the classes that both know (`test`), and of those that the main one never saw
(`heldout`); the part `validation` is there to choose settings on. What is there is not made again.
"""

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import locater
from experiments.ensemble.sources import make_judged_pack, make_packs
from locater.config import GroundingConfig
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.run.answering import answer
from locater.inference.ensemble.fusing import HOWS, How, fused, weights_of
from locater.inference.ensemble.parts import parts_of
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
ENSEMBLES = ("both: select", "main, parts: select", "image, parts: select", *(f"both, parts: {how}" for how in HOWS))
PARTS = ("main", "image", "grounding", "test", "heldout")


def main() -> None:
    """Run what is missing, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--pieces", default=",".join(PARTS), help="of each seed; each needs those before it")
    parser.add_argument("--steps", type=int, default=400, help="of each member")
    parser.add_argument("--grounding-steps", type=int, default=9000)
    parser.add_argument("--videos", type=int, default=24, help="of each split")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    some, everything = make_packs(asked.out)
    judged = make_judged_pack(asked.out)
    of_parts: dict[str, list[object]] = {}
    for seed in (int(each) for each in asked.seeds.split(",")):
        run = Run(asked.out, seed, some, everything, judged, asked.steps, asked.grounding_steps, asked.videos)
        for part in asked.pieces.split(","):
            started_at = time.process_time()
            found = run.part(part)
            of_parts.setdefault(part, []).append(found)
            print(f"seed {seed}, {part}, {time.process_time() - started_at:.0f} CPU s: {json.dumps(found)}", flush=True)
    for part, seeds in of_parts.items():
        for line in _over_seeds(seeds):
            print(f"{part}: {line}")


@dataclass(frozen=True)
class Run:
    """One seed's networks and answers; what its folder holds is not made again."""

    out: Path
    seed: int
    some: Path
    everything: Path
    judged: Path
    steps: int
    grounding_steps: int
    videos: int

    def part(self, name: str) -> object:
        """What is to be told of a part, made where it is missing."""
        if name in ("main", "image"):
            return str(self.network(name))
        return self.grounding() if name == "grounding" else self.split(name)

    def network(self, name: str) -> Path:
        """A member's checkpoint."""
        if name == "main":
            return _trained(self.out / f"main{self.seed}", self.some, self.seed, self.steps, ())
        return _trained(self.out / f"image{self.seed}", self.everything, self.seed + 10, self.steps, IMAGE)

    @property
    def module(self) -> Path:
        """The grounding module's folder."""
        return self.out / f"grounding{self.seed}"

    def grounding(self) -> object:
        """How the grounding module chooses among made candidates of held-out sentences."""
        told = self.out / f"grounding{self.seed}.json"
        if not told.exists():
            request = GroundingRequest(
                backbone=str(self.network("image")),
                data=f"composed:{self.judged}",
                out=self.module,
                weak=(str(self.network("main")), str(self.network("image"))),
                settings=GroundingConfig(width=64, frames=2),
                steps=self.grounding_steps,
                batch_size=4,
                held_out=24,
                kinds=KINDS,
                seed=self.seed,
                device="cpu",
            )
            told.write_text(json.dumps(vars(train_grounding(request))))
        return json.loads(told.read_text())

    def split(self, split: str) -> object:
        """Mean J of members, views and ensembles on a split's videos."""
        world = ComposedWorld(self.some, split, self.videos, SIZE, KINDS)
        samples = [world.load(info) for info in world.samples()]
        answers = {
            f"{name}{told}": self.answers(name, views, split, samples)
            for name in ("main", "image")
            for told, views in (("", Views()), (", views", VIEWS))
        }
        rows = {name: [score.j or 0.0 for score in scores] for name, scores in answers.items()}
        found = {name: _by_kind(values, samples) for name, values in (rows | self.joined(answers, samples)).items()}
        best = max(found["main, views"]["all"], found["image, views"]["all"])
        return {
            "videos": len(samples),
            **found,
            "gain over the best member": {name: round(found[name]["all"] - best, 4) for name in ENSEMBLES},
        }

    def answers(self, name: str, views: Views, split: str, samples: Sequence[Sample]) -> list[SampleScore]:
        """A member's answers, with their masks."""
        file = self.out / f"{name}{self.seed}-{split}-{len(views.each)}-{self.videos}.json"
        if not file.exists():
            segmenter = locater.load(str(self.network(name)), "cpu", "float32")
            found = [answer(segmenter, [sample], views=views)[0].to_json() for sample in samples]
            file.write_text(json.dumps(found))
        return [SampleScore.from_json(each) for each in json.loads(file.read_text())]

    def joined(self, answers: Mapping[str, Sequence[SampleScore]], samples: Sequence[Sample]) -> dict[str, list[float]]:
        """J of every way to join members with views, of the best candidate, and 1 where the choice is it, or near."""
        scorer = Scorer.from_folder(self.module, "cpu")
        found: dict[str, list[float]] = {}
        for place, sample in enumerate(samples):
            wholes = {name: _masks(answers[f"{name}, views"][place]) for name in ("main", "image")}
            with_parts = {name: [whole, *parts_of(whole)] for name, whole in wholes.items()}
            for name, candidates, hows in (
                ("both", list(wholes.values()), ("select",)),
                ("main, parts", with_parts["main"], ("select",)),
                ("image, parts", with_parts["image"], ("select",)),
                ("both, parts", [*with_parts["main"], *with_parts["image"]], HOWS),
            ):
                for told, value in _chosen(scorer, sample, candidates, hows).items():
                    found.setdefault(f"{name}: {told}", []).append(value)
        return found


def _chosen(scorer: Scorer, sample: Sample, candidates: Sequence[Candidate], hows: Sequence[How]) -> dict[str, float]:
    own = [_j(candidate, sample) for candidate in candidates]
    scores = scorer.scores(sample.frames, sample.info.expression, candidates)
    return {
        **{how: _j(fused(candidates, weights_of(scores, how)), sample) for how in hows},
        "best": max(own),
        "right choice": float(own[scores.index(max(scores))] >= max(own) - NEAR),
    }


def _trained(folder: Path, pack: Path, seed: int, steps: int, changes: Sequence[str]) -> Path:
    if not (folder / "checkpoint").exists():
        train_preset("tiny", f"composed:{pack}", folder, (f"training.steps={steps}", *COMMON, *changes), seed=seed)
    return folder / "checkpoint"


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


def _over_seeds(seeds: Sequence[object]) -> list[str]:
    """Mean and standard deviation of every number that all seeds of a part have."""
    if isinstance(seeds[0], Mapping):
        of_names = {name: [each[name] for each in seeds if isinstance(each, Mapping)] for name in seeds[0]}
        return [f"{name} {line}".strip() for name, values in of_names.items() for line in _over_seeds(values)]
    numbers = [float(each) for each in seeds if isinstance(each, int | float)]
    if not numbers:
        return []
    return [f"{statistics.mean(numbers):.3f} ± {statistics.stdev(numbers) if len(numbers) > 1 else 0:.3f}"]


def _mean(values: Sequence[float]) -> float:
    return round(float(sum(values)) / len(values), 4)


if __name__ == "__main__":
    main()
