"""The runs behind an ablation table: each network is trained once, then scored on every set as `evaluate` does it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.config import preset
from locater.io.results_folder import claim_folder
from locater.presets.changes import parse_changes
from locater.training.ablation.report import RowScores, SetScores
from locater.training.ablation.scoring import Amount, ScoredSet, find_scored_sets, miou_by_kind, score
from locater.training.ablation.tables import Row, find_table
from locater.training.ablation.trained_run import TrainedRun, needed_changes
from locater.training.asked import check_asked

USUAL_AMOUNT = Amount(count=16)


@dataclass(frozen=True)
class AblateRequest:
    """Which table, of which network, trained on the first of `data` and scored on all."""

    table: str
    preset: str
    data: Sequence[str]
    out: Path
    seeds: int = 3
    changes: Sequence[str] = ()  # settings of every row
    side_by_side: int = 1
    workers: int = 2
    start: Path | None = None  # every run begins with the weights of that checkpoint that fit its row
    split: str | None = None  # of the first set, to score on
    amount: Amount = USUAL_AMOUNT


def run_table(asked: AblateRequest) -> list[RowScores]:
    """Train what the rows need with every seed, `side_by_side` at a time, and score every row on all sets.

    Everything that can be checked is checked before the first step. Rows that differ in nothing that training reads
    share a run. Runs that are done are not run again, nor are those of another table in the same folder with equal
    settings.
    """
    check_asked(asked.out, 0, asked.workers)
    rows = find_table(asked.table)
    trained = {row: trained_changes(asked, row) for row in rows}
    sets = find_scored_sets(asked.data, asked.split, asked.amount)
    identity: dict[str, Any] = {"preset": asked.preset, "data": list(asked.data), "changes": list(asked.changes)}
    if asked.start is not None:
        identity["start"] = str(asked.start.resolve())
    claim_folder(asked.out / "settings.json", identity, "runs with other settings")
    jobs = [(changes, seed) for seed in range(asked.seeds) for changes in dict.fromkeys(trained.values())]
    with ThreadPoolExecutor(asked.side_by_side) as pool:
        try:
            list(pool.map(lambda job: _train(asked, *job), jobs))
        except BaseException:  # a failure or a signal: those that wait are not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [RowScores(row, _scores(asked, row, trained[row], sets)) for row in rows]


def trained_changes(asked: AblateRequest, row: Row) -> tuple[str, ...]:
    """Those changes of a row without which another network would be trained; the others matter in use, or nowhere."""
    return needed_changes(asked.preset, row.changes, asked.changes)


def _scores(asked: AblateRequest, row: Row, trained: Sequence[str], sets: Sequence[ScoredSet]) -> dict[str, SetScores]:
    config, as_trained = (
        preset(asked.preset, parse_changes([*changes, *asked.changes])) for changes in (row.changes, trained)
    )
    in_use = [] if config == as_trained else [each for each in row.changes if each not in trained]
    by_set: dict[str, SetScores] = {}
    for number, each in enumerate(sets, start=1):
        label = ",".join([f"{number}-{each.source.name}", *filter(None, [each.split]), *in_use])
        of_seeds = []
        for seed in range(asked.seeds):
            run = _place(asked.out, trained, seed)
            of_seeds.append(miou_by_kind(score(run, config, each, run / "scores" / label)))
        by_set[each.name] = {kind: [scores[kind] for scores in of_seeds] for kind in of_seeds[0]}
    return by_set


def _place(folder: Path, trained: Sequence[str], seed: int) -> Path:
    """A run's folder, named by what training reads of its row, so that rows and tables share it."""
    return folder / f"{','.join(trained) or 'preset'},seed={seed}"


def _train(asked: AblateRequest, trained: Sequence[str], seed: int) -> None:
    """One run, in a process of its own, so that several share one GPU; it resumes where it was interrupted."""
    place = _place(asked.out, trained, seed)
    changes = (*trained, *asked.changes)
    TrainedRun(place, asked.preset, asked.data[0], changes, seed, asked.start).train(asked.workers)
