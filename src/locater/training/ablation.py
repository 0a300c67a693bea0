"""The paper's ablation tables: which settings each row changes, the runs, and the table beside the paper's numbers."""

import csv
import io
import json
import math
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from locater.config import parse_changes, training_stages
from locater.errors import LocaterError
from locater.io.atomic import atomic_path, claim_folder
from locater.io.text_files import read_json
from locater.model.checkpoint import from_pretrained
from locater.training.command import size_in_training
from locater.training.data.sources import open_data
from locater.training.validation import validate

CAPACITIES = (0.0, 1.0, 1.5, 2.0, 3.0)
# tab:ablation:lgmemory, mIoU on A2D-S+: a row a global capacity, a column a local one
CAPACITY_GRID = (
    (34.8, 35.2, 35.4, 35.4, 35.5),
    (35.3, 35.5, 35.8, 36.0, 36.1),
    (35.3, 35.6, 36.1, 36.4, 36.4),
    (35.4, 35.8, 36.2, 36.4, 36.4),
    (35.4, 35.9, 36.2, 36.4, 36.4),
)
INTERVALS = {3: (59.7, 36.4), 5: (59.7, 36.4), 7: (59.7, 36.4), 10: (59.7, 36.4), 12: (59.6, 36.4), 15: (59.4, 36.1),
             20: (59.3, 35.9), 30: (59.0, 35.5)}  # fmt: skip
NO_MEMORY = ("memory.global_ratio=0.0", "memory.local_ratio=0.0")
NO_SUPERVISION = ("fusion.auxiliary=false",)


@dataclass(frozen=True)
class Row:
    """One row: what it changes, and the paper's mIoU on A2D-S and on A2D-S+ where it prints them."""

    name: str
    changes: tuple[str, ...]
    paper: tuple[float | None, float | None] = (None, None)


TABLES: dict[str, tuple[Row, ...]] = {
    "key_components": (  # tab:ablation:keycomponent
        Row("baseline: features concatenated", ("fusion.kind=concat", *NO_SUPERVISION, *NO_MEMORY), (47.3, 27.0)),
        Row("+ cross-modality encoder", (*NO_SUPERVISION, *NO_MEMORY), (54.6, 30.8)),
        Row("+ memory", NO_SUPERVISION, (57.5, 35.0)),
        Row("+ deep supervision", NO_MEMORY, (57.2, 34.8)),
        Row("all", (), (59.7, 36.4)),
    ),
    "memories": (  # the corners of tab:ablation:lgmemory, and the write as printed
        Row("none", NO_MEMORY, (None, 34.8)),
        Row("local alone", ("memory.global_ratio=0.0",), (None, 35.4)),
        Row("global alone", ("memory.local_ratio=0.0",), (None, 35.3)),
        Row("both", (), (None, 36.4)),
        Row(
            "both, the paper's write",
            (
                "memory.write=paper",
                "memory.heads=1",
                "memory.time_embedding=false",
                "memory.place_embedding=false",
            ),
        ),
        Row("both, the paper's write, positioned", ("memory.write=paper", "memory.heads=1")),
    ),
    "fusion_modules": tuple(  # tab:ablation:cme
        Row(f"K = {k}", (f"fusion.modules={k}",), paper)
        for k, paper in enumerate(((58.4, 35.2), (59.0, 35.8), (59.7, 36.4), (59.5, 36.4), (59.7, 36.4)), start=1)
    ),
    "memory_capacity": tuple(  # tab:ablation:lgmemory
        Row(f"N_g = {g} N_v, N_l = {c} N_v", (f"memory.global_ratio={g}", f"memory.local_ratio={c}"), (None, score))
        for g, scores in zip(CAPACITIES, CAPACITY_GRID, strict=True)
        for c, score in zip(CAPACITIES, scores, strict=True)
    ),
    "query": (  # tab:ablation:queryemb
        Row("text alone", ("decoder.query=text",), (58.7, 35.7)),
        Row("visual-guided", ("decoder.query=visual",), (59.7, 36.4)),
    ),
    "decoding": (  # tab:ablation:qm
        Row("encoder only", ("decoder.readout=encoder_only",), (56.8, 34.1)),
        Row("cosine distance", ("decoder.readout=cosine",), (59.2, 36.3)),
        Row("product distance", ("decoder.readout=product",), (59.7, 36.4)),
    ),
    "sampling_interval": tuple(  # tab:ablation:sample_rate
        Row(f"every {n}", (f"memory.interval={n}",), paper) for n, paper in INTERVALS.items()
    ),
}


SetScores = dict[str, list[float]]  # for each sentence kind of a set, one score a seed


@dataclass(frozen=True)
class RowScores:
    """A row's scores on every set; the first set is the one that it was trained on."""

    row: Row
    by_set: dict[str, SetScores]

    def overall(self, sets: Sequence[str]) -> list[float]:
        """The mean over the kinds of some sets, a seed."""
        values = [scores for name in sets for scores in self.by_set[name].values()]
        return [statistics.fmean(of_seed) for of_seed in zip(*values, strict=True)]


def run_table(
    table: str,
    preset: str,
    data: Sequence[str],
    folder: Path,
    *,
    seeds: int,
    changes: Sequence[str],
    side_by_side: int,
    workers: int,
    start: Path | None = None,
) -> list[RowScores]:
    """Train every row on the first of `data` with every seed, `side_by_side` at a time, and score it on all of them.

    Runs that are done are not run again, nor are those of another table in the same folder with equal settings. With
    `start` every run begins with the weights of that checkpoint that fit its row.
    """
    if table not in TABLES:
        raise LocaterError(f"There is no ablation table '{table}'; choose from {', '.join(TABLES)}.")
    identity: dict[str, Any] = {"preset": preset, "data": list(data), "changes": list(changes)}
    if start is not None:
        identity["start"] = str(start.resolve())
    claim_folder(folder / "settings.json", identity, "runs with other settings")
    jobs = [(row, seed) for seed in range(seeds) for row in TABLES[table]]

    def train(job: tuple[Row, int]) -> None:
        row, seed = job
        _train(preset, data[0], _place(folder, row, seed), seed, [*row.changes, *changes], workers, start)

    with ThreadPoolExecutor(side_by_side) as pool:
        list(pool.map(train, jobs))
    rows = []
    for row in TABLES[table]:
        by_set: dict[str, SetScores] = {}
        for number, name in enumerate(data):
            scores = [
                _own_scores(_place(folder, row, seed))
                if number == 0
                else _scores_on(name, preset, [*row.changes, *changes], _place(folder, row, seed), number)
                for seed in range(seeds)
            ]
            by_set[name] = {kind: [score[kind] for score in scores] for kind in scores[0]}
        rows.append(RowScores(row, by_set))
    return rows


def write_table(table: str, rows: Sequence[RowScores], folder: Path) -> str:
    """The table as Markdown, also written to the folder as `.md`, `.csv` and a plot."""
    markdown = as_markdown(rows)
    for name, text in ((f"{table}.md", markdown), (f"{table}.csv", as_csv(rows))):
        with atomic_path(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    _plot(table, rows, folder / f"{table}.png")
    return markdown


def as_markdown(rows: Sequence[RowScores]) -> str:
    """A row a variant: the mean over kinds beside the paper's two numbers, then every kind; mean and deviation.

    The first set stands beside the paper's A2D-S, the average of any others beside its A2D-S+.
    """
    first, *others = rows[0].by_set
    columns = [(name, kind) for name, kinds in rows[0].by_set.items() for kind in kinds]
    titles = [kind if name == first else f"{kind} ({name})" for name, kind in columns]
    beside = ["other sets"] if others else []
    heads = ["", "mIoU", "paper A2D-S", *beside, "paper A2D-S+", *titles]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows:
        plain, contrast = ("" if value is None else f"{value:.1f}" for value in row.row.paper)
        elsewhere = [_spread(row.overall(others))] if others else []
        scores = [_spread(row.by_set[name][kind]) for name, kind in columns]
        cells = [row.row.name, _spread(row.overall([first])), plain, *elsewhere, contrast, *scores]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_csv(rows: Sequence[RowScores]) -> str:
    """One line per row, set, kind and seed."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["row", "settings", "set", "kind", "seed", "miou"])
    for row in rows:
        start = [row.row.name, " ".join(row.row.changes)]
        for name, kinds in row.by_set.items():
            for kind, values in kinds.items():
                writer.writerows([*start, name, kind, seed, value] for seed, value in enumerate(values))
    return text.getvalue()


def _spread(values: Sequence[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else math.nan
    mean = 100 * statistics.fmean(values)
    return f"{mean:.1f}" if math.isnan(deviation) else f"{mean:.1f} ± {100 * deviation:.1f}"


def _place(folder: Path, row: Row, seed: int) -> Path:
    """A run's folder, named by what the row changes, so that tables share it."""
    return folder / f"{','.join(row.changes) or 'preset'},seed={seed}"


def _train(
    preset: str, data: str, folder: Path, seed: int, settings: Sequence[str], workers: int, start: Path | None
) -> None:
    """One run, in a process of its own, so that several share one GPU; it resumes where it was interrupted."""
    arguments = ["train", preset, "--data", data, "--out", str(folder), "--seed", str(seed), "--workers", str(workers)]
    if start is not None:
        arguments += ["--start", str(start), "--start-fits"]
    sets = [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "locater", *arguments, *sets], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise LocaterError(f"The run in {folder} failed: {last.removeprefix('Error: ')}")


def _own_scores(folder: Path) -> dict[str, float]:
    """The last validation of a finished run."""
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    validations: list[dict[str, float]] = [event["validation"] for event in events if "validation" in event]
    return validations[-1]


def _scores_on(data: str, preset: str, settings: Sequence[str], folder: Path, number: int) -> dict[str, float]:
    """A finished run's scores on another set's validation videos; kept beside the run."""
    path = folder / f"scores{number}.json"
    if not path.exists():
        model = from_pretrained(folder / "checkpoint")
        training = training_stages(preset, parse_changes(settings))[-1]
        source = open_data(data, size_in_training(model.config, training), training, model.config.memory.interval)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        result = validate(model.to(device), source, training.validation_videos, device, training.precision)
        with atomic_path(path) as partial:
            partial.write_text(json.dumps(result.scores))
    scores: dict[str, float] = read_json(path, "remove it and run again")
    return scores


def _plot(table: str, rows: Sequence[RowScores], path: Path) -> None:
    """A bar per row and kind, with the deviation over seeds."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    columns = [(name, kind) for name, kinds in rows[0].by_set.items() for kind in kinds]
    figure, axes = pyplot.subplots(figsize=(1.4 * len(columns) + 3, 4), layout="constrained")
    width = 0.8 / len(rows)
    for place, row in enumerate(rows):
        scores = [row.by_set[name][kind] for name, kind in columns]
        means = [statistics.fmean(values) for values in scores]
        errors = [statistics.stdev(values) if len(values) > 1 else 0.0 for values in scores]
        at = [index + (place - (len(rows) - 1) / 2) * width for index in range(len(columns))]
        axes.bar(at, means, width, yerr=errors, label=row.row.name)
    axes.set_xticks(range(len(columns)), [f"{kind}\n{name}" for name, kind in columns], rotation=20)
    axes.set_ylabel("mIoU")
    figure.suptitle(table)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")  # over the bars it hid some
    with atomic_path(path) as partial:
        figure.savefig(partial, format="png", dpi=120)
    pyplot.close(figure)
