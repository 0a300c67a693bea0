"""Tables are run in pieces, each kept; a run that is killed goes on, and what is shared is trained once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from locater.cli.paper.reproduce import reproduce as command
from locater.errors import LocaterError
from locater.reproduce.catalog import find_items
from locater.reproduce.command import reproduce
from locater.reproduce.setup import Setup, in_miniature
from locater.reproduce.systems import REGIONS, YTVOS, ScoredTable, System, cells_of
from locater.training.ablation.scoring import Amount
from locater.training.ablation.trained_run import TrainedRun
from locater.training.command import train_preset

SMALL = ("image_size=16", "width=16", "visual.width=16", "visual.depth=1", "visual.patch_size=8", "training.steps=1",
         "training.batch_size=2", "training.clip_frames=1", "training.precision=no", "memory.interval=16")  # fmt: skip
ROW = "LOCATER, ViT-B"
TABLE = ScoredTable("tab:one", "youtubesota", "one row", (System("paper", YTVOS, cells_of(ROW, YTVOS, REGIONS)),))


class KilledError(Exception):
    """Stands for a signal."""


def setup(out: Path, seeds: int = 2) -> Setup:
    return Setup(out, in_miniature([], out), True, seeds, SMALL, Amount(count=1), workers=0)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Trains in this process, and hears which runs are trained."""
    heard: list[Path] = []

    def train(self: TrainedRun, workers: int) -> None:
        if not (self.folder / "checkpoint").exists():
            heard.append(self.folder)
        train_preset(self.preset, self.data, self.folder, self.changes, seed=self.seed, workers=workers)

    monkeypatch.setattr(TrainedRun, "train", train)
    return heard


def test_a_stopped_run_goes_on_and_pieces_are_kept(tmp_path: Path, trained: list[Path]) -> None:
    items = [TABLE]

    def stop_at_second(what: str) -> None:
        if what.startswith("2 of"):
            raise KilledError

    with pytest.raises(KilledError):
        reproduce(setup(tmp_path), items, None, stop_at_second)
    assert len(trained) == 1 and not (tmp_path / "tab_one.md").exists()
    kept = sorted(tmp_path.glob("runs/*/scores/*/results.json"))
    before = [path.stat().st_mtime_ns for path in kept]
    told: list[str] = []
    done = reproduce(setup(tmp_path), items, None, told.append)
    assert len(told) == 1 and told[0].endswith("seed 1") and len(trained) == 2 and done.pieces_left == 0
    assert [path.stat().st_mtime_ns for path in kept] == before
    (text,) = done.texts
    assert (tmp_path / "tab_one.md").read_text() == text
    assert "| MTTR (CVPR22) | 55.3 | 54.0 | 56.6 |" in text and " ± " in text and "In miniature" in text
    (piece, *_) = tmp_path.glob("runs/*/piece.json")
    assert json.loads(piece.read_text())["training"]["cpu_seconds"] > 0
    with pytest.raises(LocaterError, match="other settings"):
        reproduce(Setup(tmp_path, in_miniature([], tmp_path), True, 2, (*SMALL, "width=32")), items, None, told.append)


def test_the_time_is_kept_and_what_is_left_is_told(tmp_path: Path, trained: list[Path]) -> None:
    done = reproduce(setup(tmp_path), [TABLE], 0, lambda _: None)
    assert trained == [] and done.pieces_left == 2
    assert "Not finished: LOCATER, ViT-B, J&F; 0 of 2 seeds." in done.texts[0]


def test_a_small_run_begins_with_a_network_of_its_own(tmp_path: Path, trained: list[Path]) -> None:
    small = Setup(tmp_path, in_miniature([], tmp_path), True, 1, SMALL, Amount(count=1), 0,
                  is_small=True)  # fmt: skip
    (system,) = TABLE.systems
    run = small.run(system, 0)
    assert run.start == tmp_path / "foundation" / "checkpoint" and run.start_parts == ("visual", "text")
    told: list[str] = []
    reproduce(small, [TABLE], 0, told.append)
    assert trained == [tmp_path / "foundation"] and len(told) == 1
    given = Setup(tmp_path, small.data, True, start=tmp_path / "other", is_small=True)
    assert given.own_start is None and given.run(system, 0).start == tmp_path / "other"


def test_rows_that_train_alike_share_a_run(tmp_path: Path) -> None:
    tables = [item for label in ("tab:ablation:sample_rate", "tab:subsets", "tab:ablation:keycomponent")
              for item in find_items([label])]  # fmt: skip
    own = Setup(tmp_path, in_miniature([], tmp_path), is_miniature=True)
    folders = {system.changes: own.run(system, 0).folder for item in tables for system in item.systems}  # type: ignore[union-attr]
    assert len(folders) > 12
    intervals = {folder for changes, folder in folders.items() if "interval" in "".join(changes)}
    assert intervals == {folders[()]}  # what is read in use alone
    image, without = (item.systems for item in tables[1:])  # type: ignore[union-attr]
    assert own.run(image[0], 0).folder == own.run(without[3], 0).folder  # LOCATER_IMG is the row without memory
    assert own.run(image[1], 0).folder != own.run(image[1], 1).folder


def test_the_command_needs_a_folder_and_lists_without_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LocaterError, match="--out DIR"):
        command(["tab:srl"])
    command()
    assert "| tab:a2dsota | A2D-Sentences test | a2d-sentences | no: a2d-sentences" in capsys.readouterr().out


def test_the_papers_example_of_roles_is_ours_too(tmp_path: Path) -> None:
    (text,) = reproduce(Setup(tmp_path, {}), find_items(["tab:srl"]), None, lambda _: None).texts
    assert "| ARG2 | to ground | to ground | Arg2: to ground |" in text


@pytest.mark.proof
def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    sets = [part for setting in SMALL for part in ("--set", setting)]
    out = tmp_path / "out"
    arguments = [sys.executable, "-m", "locater", "reproduce", "tab:challenge:val", "--miniature", "--out", str(out)]
    arguments += ["--count", "1", "--seeds", "2", "--workers", "0", *sets]
    running = subprocess.Popen(arguments, start_new_session=True)
    while not list(out.glob("runs/*/piece.json")):
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (out / "tab_challenge_val.md").exists()
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0 and "±" in done.stdout and len(list(out.glob("runs/*-seed*"))) == 2
