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

from locater.errors import LocaterError
from locater.files import atomic_path

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
        Row("both, the paper's write", ("memory.write=paper", "memory.heads=1", "memory.time_embedding=false")),
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


@dataclass(frozen=True)
class RowScores:
    """A row's scores: for each sentence kind, one a seed."""

    row: Row
    by_kind: dict[str, list[float]]

    @property
    def overall(self) -> list[float]:
        """The mean over kinds, a seed."""
        return [statistics.fmean(values) for values in zip(*self.by_kind.values(), strict=True)]


def run_table(
    table: str,
    preset: str,
    data: str,
    folder: Path,
    *,
    seeds: int,
    changes: Sequence[str],
    side_by_side: int,
    workers: int,
) -> list[RowScores]:
    """Train and score every row with every seed, `side_by_side` at a time; runs that are done are not run again."""
    if table not in TABLES:
        raise LocaterError(f"There is no ablation table '{table}'; choose from {', '.join(TABLES)}.")
    jobs = [(place, seed) for seed in range(seeds) for place in range(len(TABLES[table]))]

    def train(job: tuple[int, int]) -> None:
        place, seed = job
        settings = [*TABLES[table][place].changes, *changes]
        _train(preset, data, folder / f"row{place:02d}-seed{seed}", seed, settings, workers)

    with ThreadPoolExecutor(side_by_side) as pool:
        list(pool.map(train, jobs))
    rows = []
    for place, row in enumerate(TABLES[table]):
        scores = [_scores(folder / f"row{place:02d}-seed{seed}") for seed in range(seeds)]
        rows.append(RowScores(row, {kind: [score[kind] for score in scores] for kind in scores[0]}))
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
    """A row a variant: the mean over kinds, the paper's two numbers, every kind; mean and deviation over seeds."""
    kinds = list(rows[0].by_kind)
    lines = ["| | mIoU | paper A2D-S | paper A2D-S+ | " + " | ".join(kinds) + " |", "|---" * (4 + len(kinds)) + "|"]
    for row in rows:
        paper = ["" if value is None else f"{value:.1f}" for value in row.row.paper]
        cells = [_spread(row.overall), *paper, *(_spread(row.by_kind[kind]) for kind in kinds)]
        lines.append(f"| {row.row.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_csv(rows: Sequence[RowScores]) -> str:
    """One line a row, seed and kind."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["row", "settings", "seed", "kind", "miou"])
    for row in rows:
        for kind, values in row.by_kind.items():
            writer.writerows([row.row.name, " ".join(row.row.changes), seed, kind, v] for seed, v in enumerate(values))
    return text.getvalue()


def _spread(values: Sequence[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else math.nan
    mean = 100 * statistics.fmean(values)
    return f"{mean:.1f}" if math.isnan(deviation) else f"{mean:.1f} ± {100 * deviation:.1f}"


def _train(preset: str, data: str, folder: Path, seed: int, settings: Sequence[str], workers: int) -> None:
    """One run, in a process of its own, so that several share one GPU; it resumes where it was interrupted."""
    arguments = ["train", preset, "--data", data, "--out", str(folder), "--seed", str(seed), "--workers", str(workers)]
    sets = [part for setting in settings for part in ("--set", setting)]
    done = subprocess.run(
        [sys.executable, "-m", "locater", *arguments, *sets], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise LocaterError(f"The run in {folder} failed: {last.removeprefix('Error: ')}")


def _scores(folder: Path) -> dict[str, float]:
    """The last validation of a finished run."""
    events = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    validations: list[dict[str, float]] = [event["validation"] for event in events if "validation" in event]
    return validations[-1]


def _plot(table: str, rows: Sequence[RowScores], path: Path) -> None:
    """A bar a row and a kind, with the deviation over seeds."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    kinds = list(rows[0].by_kind)
    figure, axes = pyplot.subplots(figsize=(1.4 * len(kinds) + 3, 4), layout="constrained")
    width = 0.8 / len(rows)
    for place, row in enumerate(rows):
        means = [statistics.fmean(row.by_kind[kind]) for kind in kinds]
        errors = [statistics.stdev(row.by_kind[kind]) if len(row.by_kind[kind]) > 1 else 0.0 for kind in kinds]
        at = [index + (place - (len(rows) - 1) / 2) * width for index in range(len(kinds))]
        axes.bar(at, means, width, yerr=errors, label=row.row.name)
    axes.set_xticks(range(len(kinds)), kinds, rotation=20)
    axes.set_ylabel("mIoU")
    axes.set_title(table)
    axes.legend(fontsize="small")
    with atomic_path(path) as partial:
        figure.savefig(partial, format="png", dpi=120)
    pyplot.close(figure)
