"""Two real processes train as one does, also when one of them is killed on the way."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from locater.training.metrics_log import read_events
from tests.support.command_line.running import ENVIRONMENT
from tests.support.datasets.making_datasets import make_folder

# Sums of floats in another order, measured: up to 4e-5 of a loss at the first step, which Adam makes 2e-3. Flips,
# statistics or denominators that went by process would be off by a hundredth at the first step already.
ROUNDING = {1: 1e-4, 10: 1e-2, 12: 1e-2}
STEPS = 12
SETTINGS = ("image_size=32", f"training.steps={STEPS}", "training.batch_size=4", "training.clip_frames=3",
            "training.global_frames=2", "training.dice_weight=0.5", "training.flip=0.5", "training.save_every=2",
            "training.max_gradient_norm=1.0", "training.learning_rate=0.001",
            "training.validation_videos=1")  # fmt: skip


def words(data: Path, out: Path) -> list[str]:
    given = [part for each in SETTINGS for part in ("--set", each)]
    return ["-m", "locater", "train", "tiny", "--data", f"folder:{data}", "--workers", "0", "--out", str(out), *given]


def launched(*arguments: str) -> "subprocess.Popen[str]":
    environment = {**ENVIRONMENT, "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def two(data: Path, out: Path) -> "subprocess.Popen[str]":
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    return launched(*launcher, *words(data, out))


def finished(process: "subprocess.Popen[str]") -> str:
    """What it printed, when it has ended well."""
    try:
        out, error = process.communicate(timeout=240)
    finally:
        process.kill()
    assert process.returncode == 0, error
    return out


def worker(rank: int, launcher: int) -> int:
    """The process of that rank."""
    for child in Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split():
        if f"RANK={rank}\0".encode() in Path(f"/proc/{child}/environ").read_bytes().replace(b"LOCAL_RANK", b""):
            return int(child)
    raise AssertionError(f"no process of rank {rank}")


def losses(out: Path) -> list[tuple[int, dict[str, float]]]:
    events: list[dict[str, Any]] = [event for event in read_events(out / "metrics.jsonl") if "loss" in event]
    return [(event["step"], {name: event[name] for name in event if name != "step"}) for event in events]


def interrupted(data: Path, out: Path) -> None:
    """A run of two, one of which is killed after the first states, and both of which are started again."""
    process = two(data, out)
    deadline = time.monotonic() + 120
    while not list(out.glob("state-*[2468]")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(worker(1, process.pid), signal.SIGKILL)
    assert not (out / f"state-{STEPS:08d}").exists(), "it ended before it could be killed"
    process.communicate(timeout=120)
    assert process.returncode != 0
    assert finished(two(data, out)).count("Checkpoint: ") == 1  # one of them speaks


@pytest.mark.slow
def test_two_processes_one_of_them_killed_have_the_losses_of_one(tmp_path: Path) -> None:
    make_folder(tmp_path / "data")  # with frames that nobody has annotated, more of them in some clips
    finished(launched(*words(tmp_path / "data", tmp_path / "one")))
    interrupted(tmp_path / "data", tmp_path / "two")
    alone, together = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert [step for step, _ in alone] == [step for step, _ in together] == [*ROUNDING]
    for (step, ours), (_, theirs) in zip(together, alone, strict=True):
        assert ours == pytest.approx(theirs, rel=ROUNDING[step])
    assert len(list((tmp_path / "two").glob("state-*"))) == 1
    assert not list((tmp_path / "two").rglob("*.partial"))


@pytest.mark.proof
def test_a_killed_worker_changes_no_bit(tmp_path: Path) -> None:
    make_folder(tmp_path / "data")
    finished(two(tmp_path / "data", tmp_path / "whole"))
    interrupted(tmp_path / "data", tmp_path / "killed")
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")
    ours, theirs = (load_file(tmp_path / name / "checkpoint/model.safetensors") for name in ("killed", "whole"))
    assert all(torch.equal(ours[name], tensor) for name, tensor in theirs.items())
