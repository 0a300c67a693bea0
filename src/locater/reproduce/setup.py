"""Where a table's networks are trained and scored: on the paper's data as the user has it, or in miniature."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from locater.config import ModelConfig, preset
from locater.datasets.catalog import World, find_source
from locater.errors import LocaterError
from locater.presets import preset_names
from locater.presets.changes import parse_changes
from locater.reproduce.systems import A2D, CHALLENGE, JHMDB, PLUS, YTVOS, System
from locater.training.ablation.scoring import Amount, ScoredSet
from locater.training.ablation.trained_run import TrainedRun
from locater.training.command import what_training_reads

WORLD = "shapes"
MINIATURE, SMALL = "miniature.yaml", "small.yaml"  # the second on top of the first, where there is no GPU
FOUNDATION = "foundation"  # in a small run's folder: the training of what all its networks begin with
ENCODERS = ("visual", "text")  # what they take of it: the paper's begin with pretrained encoders, and so do these
CONTRASTS = "contrasts"  # the folder of M, S and T that are built from a world


@dataclass(frozen=True)
class Stand:
    """What stands for one of the paper's sets on this machine."""

    spec: str  # NAME[:ROOT]
    split: str | None = None  # None: its usual one
    about: str = "itself"  # for people


@dataclass(frozen=True)
class Setup:
    """All that decides a run of tables, but for which of them."""

    out: Path
    data: Mapping[str, Stand]  # by the paper's name of it
    is_miniature: bool = False
    seeds: int = 3
    changes: tuple[str, ...] = ()  # the user's, of every network
    amount: Amount = Amount()  # noqa: RUF009 (frozen)
    workers: int = 2
    start: Path | None = None  # every run begins with the weights of that checkpoint that fit it
    is_small: bool = False  # in miniature, for a CPU: without a start, runs begin with one that is trained first

    def __post_init__(self) -> None:
        if self.is_small and not self.is_miniature:
            raise LocaterError("--small makes the miniature smaller; give --miniature too.")

    def identity(self) -> dict[str, Any]:
        """What must not change in one folder; seeds and amounts may."""
        stands = {name: [stand.spec, stand.split] for name, stand in self.data.items()}
        start = None if self.start is None else str(self.start.resolve())
        kind = {"miniature": self.is_miniature, **({"small": True} if self.is_small else {})}
        return {**kind, "data": stands, "changes": list(self.changes), "start": start}

    def lacks(self, system: System) -> list[str]:
        """What a system needs and this machine has not: sets, by their names, or a preset of another version."""
        wanted = dict.fromkeys((system.train_on, *system.scored_on))
        lacking = [name for name in wanted if name not in self.data]
        return lacking if system.preset in preset_names() else [*lacking, f"the preset {system.preset}"]

    def all_changes(self, system: System) -> tuple[str, ...]:
        """A system's settings: smaller where it is run in miniature, then the user's, then its row's."""
        smaller = miniature_changes(system.preset, self.is_small) if self.is_miniature else ()
        return (*smaller, *self.changes, *system.changes)

    def config(self, system: System) -> ModelConfig:
        """The network that a system is in use."""
        return preset(system.preset, parse_changes(self.all_changes(system)))

    def run(self, system: System, seed: int) -> TrainedRun:
        """The training behind a system, which all systems share that read the same in training."""
        changes, data = self.all_changes(system), self.data[system.train_on].spec
        read = json.dumps([data, what_training_reads(system.preset, changes)], sort_keys=True, default=str)
        digest = hashlib.sha256(read.encode()).hexdigest()[:12]
        folder = self.out / "runs" / f"{digest}-seed{seed}"
        start, parts = (self.start, ()) if self.own_start is None else (self.own_start, ENCODERS)
        return TrainedRun(folder, system.preset, data, changes, seed, start, parts)

    @property
    def own_start(self) -> Path | None:
        """The checkpoint that a small run trains for all its networks; None: there is none."""
        return self.out / FOUNDATION / "checkpoint" if self.is_small and self.start is None else None

    def foundation(self) -> TrainedRun:
        """The training of that checkpoint, one for all seeds."""
        changes = (*miniature_changes("paper", is_small=True), *_settings(SMALL)[FOUNDATION], *self.changes)
        return TrainedRun(self.out / FOUNDATION, "paper", self.data[A2D].spec, changes, seed=0)

    def scored_set(self, name: str) -> ScoredSet:
        """One of the paper's sets as it is scored here."""
        stand = self.data[name]
        source = find_source(stand.spec)
        amount = Amount(count=self.amount.count) if source.entry.is_drawn else Amount(limit=self.amount.limit)
        return ScoredSet(name, source, source.find_split(stand.split), amount)


def on_own_data(specs: Sequence[str]) -> dict[str, Stand]:
    """The user's folders by the paper's names of them."""
    sources = [find_source(spec) for spec in specs]
    for source in sources:
        source.find_root()
    return {source.name: Stand(str(source)) for source in sources}


def in_miniature(specs: Sequence[str], out: Path) -> dict[str, Stand]:
    """A world in place of every set: `shapes`, or the one that is given; unseen splits stand for other sets.

    J-HMDB-S, which nobody trains on, and the challenge's unseen classes are the split of held-out combinations.
    """
    if len(specs) > 1:
        raise LocaterError("In miniature everything is drawn from one world; give one --data at most.")
    world = find_source(specs[0] if specs else WORLD)
    if not isinstance(world.entry, World) or world.entry.training_split is None:
        raise LocaterError(f"{world} is no world to train in; in miniature give shapes or composed:PACK, or nothing.")
    world.find_root()
    spec = str(world)
    splits = {A2D: "test", JHMDB: "heldout", YTVOS: "validation", CHALLENGE: "heldout"}
    drawn = {name: Stand(spec, split, f"the world {world.name}, {split}") for name, split in splits.items()}
    return {**drawn, PLUS: Stand(f"{PLUS}:{out / CONTRASTS}", None, f"built from the world {world.name}, test")}


def miniature_changes(name: str, is_small: bool = False) -> tuple[str, ...]:
    """What makes a preset small: settings of all, and those of its own; for a CPU smaller still."""
    files = [_settings(file) for file in ((MINIATURE, SMALL) if is_small else (MINIATURE,))]
    return tuple(change for each in files for change in (*each["all"], *each.get(name, each["others"])))


def _settings(file: str) -> dict[str, list[str]]:
    text = (resources.files("locater.reproduce") / file).read_text(encoding="utf-8")
    settings: dict[str, list[str]] = yaml.safe_load(text)
    return settings
