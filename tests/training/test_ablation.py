"""The ablation tables: every row is a network, and a table can be run from the command line."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from locater.config import parse_changes, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.training.ablation import TABLES, Row, RowScores, as_csv, as_markdown, run_table
from tests.support.making_datasets import make_a2d

ROWS = [(table, row) for table, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(("table", "row"), ROWS, ids=[f"{table}: {row.name}" for table, row in ROWS])
def test_every_row_is_a_network(table: str, row: Row) -> None:
    assert build(preset("tiny", parse_changes(row.changes)), seed=0) is not None, table


def test_a_table_shows_mean_deviation_and_the_papers_numbers() -> None:
    rows = [
        RowScores(Row("one", ("a=1",), (47.3, None)), {"shapes": {"motion": [0.5, 0.6], "size": [0.7, 0.7]}}),
        RowScores(Row("two", ()), {"shapes": {"motion": [0.6, 0.6], "size": [0.9, 0.9]}}),
    ]
    lines = as_markdown(rows).splitlines()
    assert lines[2] == "| one | 62.5 ± 3.5 | 47.3 |  | 55.0 ± 7.1 | 70.0 ± 0.0 |"
    assert lines[0].count("|") == lines[1].count("|") == lines[3].count("|")
    assert len(list(csv.reader(as_csv(rows).splitlines()))) == 1 + 2 * 2 * 2


def test_further_sets_stand_averaged_beside_the_papers_contrast_sets() -> None:
    by_set = {"a": {"all": [0.5]}, "b": {"all": [0.2]}, "c": {"all": [0.4]}}
    lines = as_markdown([RowScores(Row("one", (), (47.3, 27.0)), by_set)]).splitlines()
    assert lines[0] == "|  | mIoU | paper A2D-S | other sets | paper A2D-S+ | all | all (b) | all (c) |"
    assert lines[2] == "| one | 50.0 | 47.3 | 30.0 | 27.0 | 50.0 | 20.0 | 40.0 |"


def test_an_unknown_table_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="key_components, memories"):
        run_table("keys", "tiny", ["shapes"], tmp_path, seeds=1, changes=[], side_by_side=1, workers=0)


@pytest.mark.slow
def test_a_table_runs_from_the_command_line_and_is_not_run_twice(tmp_path: Path) -> None:
    make_a2d(tmp_path / "a2d")
    small = ["image_size=16", "training.steps=1", "training.batch_size=2", "training.clip_frames=1",
             "training.global_frames=1", "training.validation_videos=1"]  # fmt: skip
    sets = [part for setting in small for part in ("--set", setting)]
    data = ["--data", "shapes", "--data", f"a2d-sentences:{tmp_path / 'a2d'}"]
    options = [*data, "--preset", "tiny", "--seeds", "1", "--workers", "0", "--side-by-side", "2"]
    out = tmp_path / "out"
    command = [sys.executable, "-m", "locater", "ablate", "query", *options, "--out", str(out), *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "| visual-guided | " in done.stdout and "59.7" in done.stdout and "(a2d-sentences:" in done.stdout
    run = out / "decoder.query=text,seed=0"
    assert {path.name for path in out.iterdir()} >= {"query.md", "query.csv", "query.png", run.name}
    stamp = (run / "state-00000001" / "progress.json").stat().st_mtime_ns
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert again.stdout == done.stdout
    assert (run / "state-00000001" / "progress.json").stat().st_mtime_ns == stamp
    other = subprocess.run([*command, "--set", "width=32"], capture_output=True, text=True, check=False, timeout=200)
    assert other.returncode == 2 and "other settings" in other.stderr


def test_tables_share_the_runs_of_equal_rows() -> None:
    shared = {row.changes for row in TABLES["key_components"]} & {row.changes for row in TABLES["memories"]}
    assert len(shared) == 2  # without memory, and the preset itself
