"""An ablation's scores as a table beside the paper's numbers: Markdown, CSV and a plot."""

import csv
import io
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.io.atomic import atomic_path
from locater.training.ablation.tables import Row

SetScores = dict[str, list[float]]  # for each sentence kind of a set, one score per seed


@dataclass(frozen=True)
class RowScores:
    """A row's scores on every set; the first set is the one that it was trained on."""

    row: Row
    by_set: dict[str, SetScores]

    def overall(self, sets: Sequence[str]) -> list[float]:
        """The mean over the kinds of some sets, per seed."""
        values = [scores for name in sets for scores in self.by_set[name].values()]
        return [statistics.fmean(of_seed) for of_seed in zip(*values, strict=True)]


def write_table(table: str, rows: Sequence[RowScores], folder: Path) -> str:
    """The table as Markdown, also written to the folder as `.md`, `.csv` and a plot."""
    markdown = as_markdown(rows)
    for name, text in ((f"{table}.md", markdown), (f"{table}.csv", as_csv(rows))):
        with atomic_path(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    _plot(table, rows, folder / f"{table}.png")
    return markdown


def as_markdown(rows: Sequence[RowScores]) -> str:
    """A row for each variant: the mean over kinds beside the paper's two numbers, then every kind; mean and deviation.

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
    """One line for each row, set, kind and seed."""
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


def _plot(table: str, rows: Sequence[RowScores], path: Path) -> None:
    """A bar for each row and kind, with the deviation over seeds."""
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
