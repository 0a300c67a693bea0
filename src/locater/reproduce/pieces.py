"""The work in pieces: one network, one seed, trained and scored; each is kept, so that a killed run goes on."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.inference.averaged_views import PLAIN
from locater.io.atomic import atomic_path
from locater.reproduce.setup import Setup
from locater.reproduce.systems import System
from locater.training.ablation.scoring import score

RESULTS = "results.json"
PIECE = "piece.json"  # in a run's folder: how long its parts took

Figures = dict[str, Any]  # what results.json holds
Listener = Callable[[str], None]


@dataclass(frozen=True)
class Piece:
    """One system with one seed."""

    label: str  # of the table that asks for it
    system: System
    seed: int

    @property
    def title(self) -> str:
        """What a person reads."""
        rows = dict.fromkeys(f"{cell.row}" for cell in self.system.cells)
        return f"{self.label}, {' and '.join(rows)} {' '.join(self.system.changes)}".rstrip() + f", seed {self.seed}"


def plan(setup: Setup, tables: Sequence[tuple[str, Sequence[System]]]) -> list[Piece]:
    """Every piece of some tables that this machine can do, seed after seed: a table is early whole, then surer."""
    return [
        Piece(label, system, seed)
        for label, systems in tables
        for seed in range(setup.seeds)
        for system in systems
        if not setup.lacks(system)
    ]


def found(setup: Setup, system: System, seed: int) -> dict[str, Figures] | None:
    """A piece's figures by the set that was scored; None where a part of it is still to do."""
    folders = _score_folders(setup, system, seed)
    if not all((folder / RESULTS).is_file() for folder in folders.values()):
        return None
    return {name: json.loads((folder / RESULTS).read_text("utf-8")) for name, folder in folders.items()}


def waiting(setup: Setup, pieces: Sequence[Piece]) -> list[Piece]:
    """Those pieces of which a part is still to do."""
    return [piece for piece in pieces if found(setup, piece.system, piece.seed) is None]


def work(setup: Setup, pieces: Sequence[Piece], minutes: float | None, tell: Listener) -> int:
    """Do the pieces one after the other, until all are done or the time is up; how many are left.

    The piece that passes the limit is finished: what it has cost is kept.
    """
    started_at = time.monotonic()
    for number, piece in enumerate(pieces, start=1):
        if minutes is not None and time.monotonic() - started_at >= 60 * minutes:
            return len(pieces) - number + 1
        if found(setup, piece.system, piece.seed) is None:  # it may have been done for another table meanwhile
            tell(f"{number} of {len(pieces)}: {piece.title}")
            _do(setup, piece)
    return 0


def begin(setup: Setup) -> None:
    """Train what the networks of a small run begin with; what is done of it is not done again."""
    run = setup.foundation()
    with _noted(run.folder / PIECE, "training"):
        run.train(setup.workers)


def _do(setup: Setup, piece: Piece) -> None:
    """Train, then score on each set."""
    run, config = setup.run(piece.system, piece.seed), setup.config(piece.system)
    with _noted(run.folder / PIECE, "training"):
        run.train(setup.workers)
    for name, out in _score_folders(setup, piece.system, piece.seed).items():
        with _noted(run.folder / PIECE, out.name):
            score(run.folder, config, setup.scored_set(name), out, piece.system.views)


@contextmanager
def _noted(path: Path, name: str) -> Iterator[None]:
    """Keep how long a part took and its CPU time, the first time: done again it is only looked up."""
    started_at, cpu_before = time.monotonic(), _cpu_seconds()
    yield
    took = {"seconds": time.monotonic() - started_at, "cpu_seconds": _cpu_seconds() - cpu_before}
    known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    noted = {name: {unit: round(value, 3) for unit, value in took.items()}, **known}
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(noted, indent=1) + "\n", "utf-8")


def _cpu_seconds() -> float:
    """Of this process and of those that it has waited for."""
    times = os.times()  # in hundredths of a second, which is coarse for this process's own
    return time.process_time() + times.children_user + times.children_system


def _score_folders(setup: Setup, system: System, seed: int) -> dict[str, Path]:
    """Where a system's answers are kept, by set: those of one network with another interval or amount are others."""
    run, interval = setup.run(system, seed), setup.config(system).memory.interval
    folders = {}
    for name in system.scored_on:
        scored = setup.scored_set(name)
        many = scored.amount.count or scored.amount.limit or "all"
        label = f"{scored.source.name},{scored.split},{many},every={interval}"
        if system.views != PLAIN:
            label += f",{system.views}".replace(" ", "_")
        folders[name] = run.folder / "scores" / label
    return folders
