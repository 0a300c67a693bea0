"""Every table of the paper is in the list, every cell of ours is a printed one, and every network can be built."""

from importlib import resources
from pathlib import Path

import pytest

from locater.config import preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.presets import preset_names
from locater.presets.changes import parse_changes
from locater.published.tables import printed_table
from locater.reproduce.catalog import ALL, ITEMS, find_items
from locater.reproduce.command import listing
from locater.reproduce.setup import Setup, Stand, in_miniature, miniature_changes, on_own_data
from locater.reproduce.systems import A2D, PLUS, ScoredTable
from locater.reproduce.tables import SCORED

MEASURED = {"ablation_efficiency", "statistic", "srl"}


def test_every_printed_table_is_an_item() -> None:
    files = {entry.name.removesuffix(".tsv") for entry in resources.files("locater.published").iterdir()
             if entry.name.endswith(".tsv")}  # fmt: skip
    assert {table.printed for table in SCORED} | MEASURED == files
    assert len(ITEMS) == 19


@pytest.mark.parametrize("table", SCORED, ids=lambda table: table.label)
def test_every_cell_of_ours_stands_beside_a_printed_number(table: ScoredTable) -> None:
    printed = printed_table(table.printed)
    cells = [cell for system in table.systems for cell in system.cells]
    assert len({(cell.row, cell.column) for cell in cells}) == len(cells)
    assert all(printed.value(cell.row, cell.column) is not None for cell in cells)


@pytest.mark.parametrize("is_small", [False, True])
@pytest.mark.parametrize("table", SCORED, ids=lambda table: table.label)
def test_every_network_is_built_in_miniature(table: ScoredTable, is_small: bool) -> None:
    small = Setup(Path(), in_miniature([], Path()), is_miniature=True, is_small=is_small)
    for preset_name in {system.preset for system in table.systems} & set(preset_names()):
        system = next(each for each in table.systems if each.preset == preset_name)
        network = build(small.config(system), seed=0)
        assert sum(parameter.numel() for parameter in network.parameters()) < 10_000_000


def test_the_grid_of_capacities_is_whole() -> None:
    item = ITEMS["tab:ablation:lgmemory"]
    assert isinstance(item, ScoredTable)
    assert len({(cell.row, cell.column) for system in item.systems for cell in system.cells}) == 25
    corner = next(
        system for system in item.systems if system.cells[0].row == "1.5 N_v" and "2 N_v" in system.cells[0].column
    )
    changed = preset("paper", parse_changes(corner.changes))
    assert changed == preset("paper")  # the paper's own setting


def test_own_data_says_what_is_here(tmp_path: Path) -> None:
    table = {row[0]: row[3] for row in listing(Setup(tmp_path, {})).rows}
    assert table["tab:srl"] == table["fig:quali"] == "yes" and table["tab:statistic"] == "no: a2d-sentences"
    given = Setup(tmp_path, {A2D: Stand(A2D), PLUS: Stand(PLUS)})
    table = {row[0]: row[3] for row in listing(given).rows}
    assert table["tab:subsets"] == table["tab:ablation:cme"] == "yes"
    assert table["tab:jhmdbsota"].startswith("no: jhmdb-sentences")
    with pytest.raises(LocaterError, match="no folder"):
        on_own_data([f"a2d-sentences:{tmp_path / 'nowhere'}"])


def test_the_shares_of_settings_are_settled() -> None:
    for name in preset_names():
        if name.startswith("paper"):
            preset(name, parse_changes(miniature_changes(name)))


def test_what_cannot_be_run_is_told() -> None:
    assert len(find_items([ALL])) == len(ITEMS)
    with pytest.raises(LocaterError, match="tab:a2dsota, tab:jhmdbsota"):
        find_items(["tab:nothing"])
    with pytest.raises(LocaterError, match="no world to train in"):
        in_miniature(["failures"], Path())
    with pytest.raises(LocaterError, match="one --data at most"):
        in_miniature(["shapes", "shapes"], Path())
    with pytest.raises(LocaterError, match="give --miniature too"):
        Setup(Path(), {}, is_small=True)
