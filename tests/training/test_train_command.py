"""Training through the real command: the loss falls, and a killed run goes on to the same numbers."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from locater.errors import LocaterError
from locater.model.checkpoint import from_pretrained, trained_words
from locater.model.locater import ClipPrediction, Locater
from locater.model.word_embedding import LearnedEmbedding
from locater.training.command import train_preset
from tests.support.command_line.running import run_main
from tests.support.datasets.making_datasets import make_folder

SETTINGS = {
    "image_size": 32,
    "training.batch_size": 8,
    "training.clip_frames": 2,
    "training.global_frames": 2,
    "training.learning_rate": 0.003,
    "training.validation_videos": 1,
    "training.validate_every": 1000,
    "training.ema_decay": 0.9,
    "training.max_gradient_norm": 1.0,
    "training.dice_weight": 0.5,
}


def command(out: Path, **changes: object) -> list[str]:
    settings = {**SETTINGS, **{f"training.{name}": value for name, value in changes.items()}}
    assignments = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    return [sys.executable, "-m", "locater", "train", "tiny", "--data", "shapes", "--out", str(out), "--workers", "0",
            *assignments]  # fmt: skip


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=240, env=environment)


def events(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.slow
def test_loss_falls_and_a_killed_run_resumes_to_identical_weights(tmp_path: Path) -> None:
    whole = run(command(tmp_path / "whole", steps=80, save_every=10))
    assert whole.returncode == 0, whole.stderr
    losses = [event["loss"] for event in events(tmp_path / "whole") if "loss" in event]
    assert statistics.fmean(losses[-3:]) < 0.6 * losses[0]  # the first is the untrained network's
    assert sorted(path.name for path in (tmp_path / "whole" / "validation").iterdir())[0] == "absent.png"

    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    killed = subprocess.Popen(command(tmp_path / "killed", steps=80, save_every=10), env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    deadline = time.monotonic() + 120
    while not list((tmp_path / "killed").glob("state-*[23]0")) and time.monotonic() < deadline:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "killed" / "state-00000080").exists(), "the run ended before it could be killed"
    resumed = run(command(tmp_path / "killed", steps=80, save_every=10))
    assert resumed.returncode == 0, resumed.stderr
    ours, theirs = (load_file(tmp_path / name / "checkpoint" / "model.safetensors") for name in ("killed", "whole"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert events(tmp_path / "killed") == events(tmp_path / "whole")
    assert resumed.stdout.splitlines()[:-1] == whole.stdout.splitlines()[:-1]  # the scores; the last line is the folder

    started = run([*command(tmp_path / "more", steps=1), "--start", str(tmp_path / "whole" / "checkpoint")])
    assert started.returncode == 0, started.stderr
    assert from_pretrained(tmp_path / "more" / "checkpoint").text.max_words == 20


SHORT = ["train", "tiny", "--data", "shapes", "--out", "x", "--workers", "0", "--set", "training.steps=2"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["train", "tiny", "--data", "a2d", "--out", "x"], "no dataset 'a2d'"),
        (["train", "tiny", "--data", "shapes", "--out", "x"], "set training.steps"),
        (["train", "tiny", "--data", "shapes", "--out", "x", "--set", "training.stepz=3"], "known here are accumulate"),
        (["train", "tiny", "--data", "shapes", "--out", "x", "--set", "nonsense"], "write it as memory.write=paper"),
        (
            ["train", "tiny", "--data", "shapes", "--out", "x", "--set", "training.image_size=42"],
            "multiple of the patch",
        ),
        ([*SHORT, "--set", "training.save_every=0"], "save_every: Input should be greater"),
        ([*SHORT, "--set", "training.steps=-1"], "steps: Input should be greater"),
        ([*SHORT, "--set", "training.steps=[[[["], "'[[[[' is no value for training.steps"),
        ([*SHORT, "--set", "fusion.heads=7"], "width 32 is not a multiple of fusion.heads 7"),
        ([*SHORT, "--set", "visual.heads=7"], "width 32 is not a multiple of heads 7"),
        ([*SHORT, "--set", "width=1048576"], "width: Input should be less"),
        ([*SHORT, "--set", "visual={kind: vit, width: 16384, depth: 128, heads: 8}"], "billion weights"),
        ([*SHORT, "--set", "training.learning_rate=.nan"], "learning_rate: Input should be a finite number"),
        ([*SHORT, "--set", "training.steps.x=3"], "which another --set gives whole"),
        ([*SHORT, "--workers", "-1"], "There cannot be -1 workers"),
        ([*SHORT, "--seed", str(2**70)], "give one from 0 to 2147483647"),
        ([*SHORT, "--track", "bogus"], "There is no tracker 'bogus'; known are"),
        ([*SHORT, "--out", "/dev/null"], "/dev/null is no folder"),
        ([*SHORT, "--out", "/proc/x"], "/proc"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from locater.cli import app as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["locater", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err.strip()
    assert told in said and said.startswith("Error: ") and "\n" not in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_stages_follow_each_other_and_a_finished_one_is_not_trained_again(tmp_path: Path) -> None:
    settings = ["image_size=16", "fusion.centre=false", "training.batch_size=2", "training.global_frames=0"]
    one = "{steps: 2, clip_frames: 1, validation_videos: 0, learning_rate: 0.01}"

    def train(stages: str) -> None:
        train_preset("tiny", "shapes", tmp_path / "run", [*settings, f"training.stages=[{stages}]"])

    train(f"{one}, {{steps: 0, clip_frames: 2, validation_videos: 1}}")
    first = tmp_path / "run" / "stage1" / "checkpoint" / "model.safetensors"
    stamp = first.stat().st_mtime_ns
    assert not (tmp_path / "run" / "stage1" / "validation").exists()
    train(f"{one}, {{steps: 1, clip_frames: 2, validation_videos: 1, learning_rate: 0.0}}")
    assert first.stat().st_mtime_ns == stamp
    last = load_file(tmp_path / "run" / "checkpoint" / "model.safetensors")
    for name, tensor in load_file(first).items():
        assert torch.equal(tensor, last[name]), name  # at a rate of nothing the second stage keeps what it was given
    assert [event["step"] for event in events(tmp_path / "run")] == [1, 1]  # its loss and its validation


def test_a_run_can_begin_with_the_weights_that_fit(tmp_path: Path) -> None:
    first = tmp_path / "first"
    settings = ["training.steps=1", "training.batch_size=2", "training.validation_videos=0"]
    train_preset("tiny", "shapes", first, settings)
    changed = [*settings, "memory.local_ratio=0.0", "training.learning_rate=0.0", "training.ema_decay=0.0"]
    with pytest.raises(LocaterError, match="does not fit"):
        train_preset("tiny", "shapes", tmp_path / "strict", changed, start=first / "checkpoint")
    train_preset("tiny", "shapes", tmp_path / "fits", changed, start=first / "checkpoint", start_parts=())
    before, after = (from_pretrained(folder / "checkpoint") for folder in (first, tmp_path / "fits"))
    assert torch.equal(before.fusion.steps[0].visual_type, after.fusion.steps[0].visual_type)  # type: ignore[index,union-attr]
    assert after.memory.local_write is None and before.memory.local_write is not None


@pytest.mark.parametrize("option", [("--start-fits",), ("--start-parts", "visual,text")])
def test_what_to_take_of_a_start_needs_a_start(
    tmp_path: Path, option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    ran = run_main(monkeypatch, capsys, "train", "tiny", "--data", "shapes", "--out", out, *option)
    assert "name it by --start" in ran.error
    assert not out.exists()


def test_frames_may_be_of_another_size_in_training_than_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    forward = Locater.forward

    def spied(model: Locater, frames: torch.Tensor, *others: Any) -> ClipPrediction:
        seen.append(frames.shape[-1])
        return forward(model, frames, *others)

    monkeypatch.setattr(Locater, "forward", spied)
    one = "{steps: 1, batch_size: 2, clip_frames: 1, validation_videos: 0"
    stages = f"training.stages=[{one}, image_size: 32}}, {one}}}]"
    train_preset("tiny", "shapes", tmp_path, ["image_size=64", "training.global_frames=0", stages])
    assert seen == [32, 64]
    assert from_pretrained(tmp_path / "checkpoint").config.image_size == 64


def test_words_in_common_are_kept_when_the_text_is_another(tmp_path: Path) -> None:
    settings = ["training.steps=1", "training.batch_size=2", "training.validation_videos=0"]
    train_preset("tiny", "shapes", tmp_path / "first", settings)
    still = [*settings, "training.learning_rate=0.0", "training.ema_decay=0.0"]
    words = ["circle", "dirigible", "red", "the"]
    other = [*still, f"text.vocabulary=[{', '.join(words)}]"]
    train_preset("tiny", "shapes", tmp_path / "second", other, start=tmp_path / "first" / "checkpoint")
    before, after = (from_pretrained(tmp_path / name / "checkpoint") for name in ("first", "second"))
    old, new = before.text.embedding, after.text.embedding
    assert isinstance(old, LearnedEmbedding) and isinstance(new, LearnedEmbedding)
    assert new.vocabulary.words == tuple(words) and "dirigible" not in old.vocabulary.words
    for word in ("circle", "red", "the"):
        assert torch.equal(new.weight[new.vocabulary.number(word)], old.weight[old.vocabulary.number(word)])
    assert torch.equal(new.weight[:2], old.weight[:2])
    assert torch.equal(after.fusion.steps[0].visual_type, before.fusion.steps[0].visual_type)  # type: ignore[index,union-attr]


def test_a_start_keeps_its_words_beside_those_of_other_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    make_folder(tmp_path / "data")
    settings = ["image_size=16", "training.steps=1", "training.batch_size=2", "training.clip_frames=2",
                "training.global_frames=2", "training.validation_videos=0", "training.ema_decay=0.0"]  # fmt: skip

    def train(data: str, out: str, *more: object, rate: float) -> dict[str, torch.Tensor]:
        assignments = [part for each in (*settings, f"training.learning_rate={rate}") for part in ("--set", each)]
        words = ["train", "tiny", "--data", data, "--out", tmp_path / out, "--workers", 0, *assignments, *more]
        ran = run_main(monkeypatch, capfd, *words)
        assert ran.code == 0, ran.err
        folder = tmp_path / out / "checkpoint"
        rows = from_pretrained(folder).state_dict()["text.embedding.weight"]
        known = trained_words(folder)
        assert len(known) == len(set(known))
        return dict(zip(known, rows[len(rows) - len(known) :], strict=True))

    data = f"folder:{tmp_path / 'data'}"
    start = train("shapes", "start", rate=0.01)
    afresh = train(data, "afresh", rate=0.0)
    after = train(data, "after", "--start", tmp_path / "start" / "checkpoint", rate=0.0)
    assert "circle" in start and "circle" not in afresh and "dog" in afresh and "dog" not in start
    assert after.keys() == start.keys() | afresh.keys()
    assert all(torch.equal(after[word], vector) for word, vector in start.items())
    assert not torch.equal(after["dog"], after["circle"])
