"""The soak and the load through the real command at tiny sizes, and the statistics that the soak judges by."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from locater.bench.harness.trend import trend
from locater.bench.suites import soak
from locater.config import preset
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.records import VideoState
from locater.worlds.shapes import vocabulary
from tests.support.bench_command import Ran, run_bench

Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    return lambda *arguments: run_bench(monkeypatch, capsys, tmp_path / "out", *arguments)


def test_a_slope_is_told_from_noise_and_noise_from_a_slope() -> None:
    places = np.arange(0.0, 90_000, 1000)
    noise = np.random.default_rng(0).normal(0, 50_000, len(places))
    flat, leaking = trend(places, 4e8 + noise), trend(places, 4e8 + 64 * places + noise)
    assert flat.low < 0 < flat.high and flat.noise < 2
    assert leaking.low > 0 and leaking.low < 64 < leaking.high
    assert leaking.slope == pytest.approx(64, abs=1)


def test_neighbours_that_are_alike_widen_the_interval() -> None:
    places = np.arange(90.0)
    steps = np.repeat(np.random.default_rng(1).normal(size=9), 10)  # ten times the same is not ten measurements
    shuffled = np.random.default_rng(2).permutation(steps)
    assert trend(places, steps).noise > 2 * trend(places, shuffled).noise


def test_what_does_not_move_has_no_slope_and_no_noise() -> None:
    found = trend(range(10), [4e8] * 10)
    assert found.slope == found.noise == 0


def test_the_soak_looks_at_every_frame(run: Run) -> None:
    ran = run("soak", "--frames", 200)
    report = ran.report("soak")
    assert [row["what"] for row in report["rows"]] == [
        "resident memory, bytes", "norm of the global cells", "norm of the local cells"
    ]  # fmt: skip
    assert report["title"].startswith("200 frames through one state, preset tiny")
    assert report["rows"][0]["mean"] > 1e8 and report["rows"][1]["mean"] > 0
    checks = {check["name"]: check["difference"] for check in report["checks"]}
    assert checks["frames with an output or a cell that is no number"] == 0


def test_a_cell_that_is_no_number_fails_the_soak(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own: Callable[[VideoState], dict[str, torch.Tensor]] = vars(VideoState)["tensors"].fget

    def spoilt(state: VideoState) -> dict[str, torch.Tensor]:
        found = own(state)
        return found if state.frame_index < 150 else found | {"global_cells": found["global_cells"] * torch.nan}

    monkeypatch.setattr(VideoState, "tensors", property(spoilt))
    ran = run("soak", "--frames", 200)
    assert ran.code == 2 and "frames with an output or a cell that is no number: DISAGREES, 51 of 0" in ran.err


def test_a_soak_too_short_for_its_slopes_is_refused(run: Run) -> None:
    assert "needs at least 200 frames" in run("soak", "--frames", 199).err
    assert soak.BLOCK * 10 == 10_000


@pytest.mark.slow
def test_users_of_the_page_are_all_served(run: Run, tmp_path: Path) -> None:
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), 0), tmp_path / "tiny")
    ran = run("load", "--users", 3, "--checkpoint", tmp_path / "tiny")
    assert ran.code == 0, ran.err
    report = ran.report("load")
    answers = {row["what"]: row["answers"] for row in report["rows"]}
    assert answers["upload"] == answers["closing"] == answers["a clip, from asking to its last mask"] == 3
    assert answers["a mask"] >= 3 and answers["a picture"] == answers["a mask"]
    assert all(0 < row["median_ms"] <= row["p95_ms"] <= row["highest_ms"] for row in report["rows"])
    assert any("resident memory" in note for note in report["notes"])


def test_a_page_that_does_not_start_is_one_sentence(run: Run) -> None:
    ran = run("load", "--checkpoint", "no such")
    assert ran.code == 2 and "The page did not start: There is no checkpoint 'no such'" in ran.err
    assert ran.err.count("\n") == 1
