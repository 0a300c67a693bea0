"""What `locater reproduce` calls: the list of all, and the run of some, which goes on where it was stopped."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.bench.harness.machine import machine_facts
from locater.bench.suites.fps import SPEED
from locater.contrast.build import BuildRequest, build
from locater.datasets.catalog import find_source
from locater.datasets.drawn_worlds import Drawing
from locater.io.atomic import atomic_path
from locater.io.results_folder import claim_folder
from locater.published.tables import printed_table
from locater.report.tables import Table
from locater.reproduce.beside import FoundCells, beside, orders, value_at
from locater.reproduce.catalog import ELSEWHERE, ITEMS, Figure, Item, MeasuredTable
from locater.reproduce.measured import speeds
from locater.reproduce.pieces import Listener, begin, found, plan, waiting, work
from locater.reproduce.setup import CONTRASTS, Setup
from locater.reproduce.systems import A2D, PLUS, Cell, ScoredTable
from locater.text.roles import open_labeler


@dataclass(frozen=True)
class Reproduced:
    """What came of a run."""

    texts: list[str]  # of each item, Markdown
    pieces_left: int


def listing(setup: Setup) -> Table:
    """Every table and figure, what data it needs, and whether it can be run with what was given."""
    rows = [
        [item.label, item.title, ", ".join(item.needs) or "nothing", _is_here(setup, item)] for item in ITEMS.values()
    ]
    note = "Elsewhere: " + "; ".join(f"{label}: {what}" for label, what in ELSEWHERE.items()) + "."
    return Table("the paper's tables and figures", ["", "what", "needs", "here"], rows, note)


def reproduce(setup: Setup, items: Sequence[Item], minutes: float | None, tell: Listener) -> Reproduced:
    """Do the pieces of some items that this machine can do, and write every item's table as far as it has come."""
    claim_folder(setup.out / "reproduce.json", setup.identity(), "tables with other settings")
    scored = [item for item in items if isinstance(item, ScoredTable)]
    if setup.is_miniature and any(PLUS in item.needs for item in scored):
        _build_contrasts(setup, tell)
    pieces = waiting(setup, plan(setup, [(item.label, item.systems) for item in scored]))
    if pieces and setup.own_start is not None:
        tell("training what every network begins with, if that is not done")
        begin(setup)
    left = work(setup, pieces, minutes, tell)
    return Reproduced([_write(setup, item) for item in items], left)


def _is_here(setup: Setup, item: Item) -> str:
    if isinstance(item, ScoredTable):
        lacking = [setup.lacks(system) for system in item.systems]
        missing = ", ".join(dict.fromkeys(name for each in lacking for name in each))
        if not missing:
            return "yes"
        return f"no: {missing}" if all(lacking) else f"in part, without {missing}"
    missing = ", ".join(name for name in item.needs if name not in setup.data)
    return f"no: {missing}" if missing else "yes"


def _build_contrasts(setup: Setup, tell: Listener) -> None:
    """M, S and T of the world's test split; what is built already is left as it is."""
    scored = setup.scored_set(A2D)
    tell(f"building M, S and T of {scored.source}")
    dataset = find_source(str(scored.source)).open(scored.split, Drawing(scored.amount.count))
    build(dataset, open_labeler(""), BuildRequest(setup.out / CONTRASTS))


def _write(setup: Setup, item: Item) -> str:
    """One item as files in the folder; its text for the terminal."""
    path = setup.out / item.label.replace(":", "_")
    if isinstance(item, Figure):
        item.draw(path.with_suffix(".png"))
        return f"{item.label}: {path.with_suffix('.png')}"
    if isinstance(item, MeasuredTable) and any(name not in setup.data for name in item.needs):
        return f"{item.label}: not run, needs {', '.join(item.needs)}."
    text, rows = _measured(setup, item) if isinstance(item, MeasuredTable) else _scored(setup, item)
    _save(path.with_suffix(".md"), text)
    _save(path.with_suffix(".csv"), _as_csv(rows))
    return text


def _measured(setup: Setup, item: MeasuredTable) -> tuple[str, list[list[str]]]:
    table = item.make(setup)
    return _page(item.label, item.title, table, []), [list(table.columns), *map(list, table.rows)]


def _scored(setup: Setup, item: ScoredTable) -> tuple[str, list[list[str]]]:
    cells = _cells(setup, item)
    is_timed = SPEED in printed_table(item.printed).columns
    table = beside(item, cells, speeds() if is_timed else {})
    lines = [_how(setup, item), *(order.sentence() for order in orders(item, cells)), *_still_to_do(setup, item)]
    rows = [["row", "column", "seed", "value"]]
    rows += [
        [cell.row, cell.column, str(seed), f"{value:.4f}"]
        for cell, some in cells.items()
        for seed, value in enumerate(some)
    ]
    return _page(item.label, item.title, table, lines), rows


def _cells(setup: Setup, item: ScoredTable) -> FoundCells:
    """Every cell of ours that has a value, by seed."""
    cells: dict[Cell, list[float]] = {}
    for system in item.systems:
        if setup.lacks(system):
            continue
        figures = [each for seed in range(setup.seeds) if (each := found(setup, system, seed)) is not None]
        for cell in system.cells:
            values = [value for each in figures if (value := value_at(each[cell.data], cell.path)) is not None]
            if values:
                cells[cell] = values
    return cells


def _still_to_do(setup: Setup, item: ScoredTable) -> Iterator[str]:
    """A line for each system that has not run with every seed."""
    for system in item.systems:
        first = system.cells[0]
        if lacking := setup.lacks(system):
            yield f"Not run: {first.row}, {first.column}; it needs {', '.join(lacking)}."
            continue
        done = sum(found(setup, system, seed) is not None for seed in range(setup.seeds))
        if done < setup.seeds:
            yield f"Not finished: {first.row}, {first.column}; {done} of {setup.seeds} seeds."


def _how(setup: Setup, item: ScoredTable) -> str:
    facts = machine_facts()
    where = facts["machine"] if facts["gpu"] == "none" else facts["gpu"]
    stands = ", ".join(f"{name} is {setup.data[name].about}" for name in item.needs if name in setup.data)
    kind = "In miniature" if setup.is_miniature else "On the paper's data"
    settings = f"; settings {' '.join(setup.changes)}" if setup.changes else ""
    means = "mean ± deviation over seeds" if setup.seeds > 1 else "one seed"
    return f"{kind}: {stands}; seeds 0 to {setup.seeds - 1}{settings}; {where}. Ours: {means}."


def _page(label: str, title: str, table: Table, lines: Sequence[str]) -> str:
    said = "".join(f"- {line}\n" for line in lines)
    return f"## {label}: {title}\n\n{table.markdown()}\n\n{said}".rstrip() + "\n"


def _as_csv(rows: Sequence[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _save(path: Path, text: str) -> None:
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")
