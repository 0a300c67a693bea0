"""Recipes through the real command: stages on clips, on cached features and averages, killed and gone on with."""

import json
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

from locater.config import preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import from_pretrained
from locater.training import command as training
from locater.training.command import train_preset
from locater.training.data.world import WorldData
from locater.worlds.shapes import shapes_batches

RECIPE = """
extends: tiny
image_size: 16
training:
  batch_size: 4
  clip_frames: 2
  global_frames: 0
  learning_rate: 0.003
  validation_videos: 0
  save_every: 2
  ema_decay: 0.9
  stages:
    - steps: 4
    # The memory on what stays as it is.
    - steps: 60
      cached_clips: 12
      is_fine: false
      rates: {visual: 0.0, text: 0.0, fusion: 0.0, auxiliary: 0.0}
    - steps: 3
      start: stage1
      seed: 5
    - average: {of: [stage2, stage3], weights: [3, 1], parts: {memory: [1, 0]}}
    - steps: 2
      learning_rate: 0.0
      ema_decay: 0.0
"""


def command(recipe: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "locater", "train", str(recipe), "--data", "shapes", "--out", str(out),
            "--workers", "0"]  # fmt: skip


ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=240, env=ENVIRONMENT)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "checkpoint" / "model.safetensors")


@pytest.mark.slow
def test_a_recipe_killed_in_its_second_stage_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = run(command(recipe, whole))
    assert done.returncode == 0, done.stderr

    process = subprocess.Popen(
        command(recipe, killed), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while not list((killed / "stage2").glob("state-*")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    reached = [path.name for path in (killed / "stage2").glob("state-*")]
    assert reached and reached != ["state-00000060"] and not (killed / "stage3").exists(), reached
    stamp = (killed / "stage1" / "checkpoint" / "model.safetensors").stat().st_mtime_ns
    resumed = run(command(recipe, killed))
    assert resumed.returncode == 0, resumed.stderr
    assert (killed / "stage1" / "checkpoint" / "model.safetensors").stat().st_mtime_ns == stamp
    for place in (".", "stage1", "stage2", "stage3", "stage4"):
        ours, theirs = (folder / place / "checkpoint" / "model.safetensors" for folder in (killed, whole))
        assert ours.read_bytes() == theirs.read_bytes(), place

    second, third, mean, last = (weights(whole / place) for place in ("stage2", "stage3", "stage4", "."))
    first = weights(whole / "stage1")
    for name, tensor in mean.items():
        if not tensor.is_floating_point():
            continue
        share = 1.0 if name.startswith("memory.") else 0.75
        torch.testing.assert_close(tensor, share * second[name] + (1 - share) * third[name], rtol=1e-5, atol=1e-6)
        if name.startswith("visual."):
            assert torch.equal(second[name], first[name])  # the features that were cached
    assert torch.equal(last["memory.local_start"], mean["memory.local_start"])  # the last stage learned at no rate
    assert not torch.equal(third["memory.local_start"], first["memory.local_start"])

    stamps = {path: path.stat().st_mtime_ns for path in whole.glob("stage*/checkpoint/model.safetensors")}
    assert run(command(recipe, whole)).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps  # what is finished is not done again


def quick(folder: Path, stages: str, **options: Any) -> None:
    settings = ["image_size=16", "training.batch_size=2", "training.global_frames=0", "training.clip_frames=1",
                "training.validation_videos=0"]  # fmt: skip
    settings += [f"training.stages=[{stages}]", *options.pop("changes", ())]
    train_preset("tiny", options.pop("data", "shapes"), folder, settings, **options)


def test_an_average_is_made_anew_when_what_it_is_made_of_has_changed(tmp_path: Path) -> None:
    def train(steps: int) -> float:
        mean = "{average: {of: [stage1, stage2], weights: [1, 1]}}"
        quick(tmp_path, f"{{steps: 1}}, {{steps: {steps}}}, {mean}")
        return float(weights(tmp_path)["memory.local_start"].sum())

    first = train(1)
    record = json.loads((tmp_path / "average.json").read_text())
    assert record["of"] == ["stage1", "stage2"] and len(record["sha256"]) == 2
    assert train(1) == first
    assert train(2) != first  # stage 2 has gone on


def test_a_stage_may_begin_with_the_weights_that_the_run_was_given(tmp_path: Path) -> None:
    quick(tmp_path / "given", "{steps: 1}")
    still = "steps: 1, learning_rate: 0.0"
    start = tmp_path / "given" / "checkpoint"
    stages = f"{{steps: 1, learning_rate: 0.01}}, {{{still}, start: start}}"
    quick(tmp_path / "run", stages, start=start)
    given, first, last = (weights(tmp_path / place) for place in ("given", "run/stage1", "run"))
    assert all(torch.equal(last[name], given[name]) for name in given if name.startswith("memory."))
    assert not torch.equal(first["memory.local_start"], given["memory.local_start"])


def dogs_beside_shapes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is opened from now on; `dogs` are shapes whose words hold another one."""

    class Dogs(WorldData):
        def words(self) -> list[str]:
            return [*super().words(), "dog"]

    opened = []

    def open_data(spec: str, size: int, config: Any, interval: int) -> WorldData:
        opened.append(spec)
        return (Dogs if spec == "dogs" else WorldData)(shapes_batches(), size, config, interval)

    monkeypatch.setattr(training, "open_data", open_data)
    return opened


def test_an_average_takes_in_a_start_that_lacks_some_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a run on other words would fail at its very end."""
    dogs_beside_shapes(monkeypatch)
    quick(tmp_path / "given", "{steps: 1}")
    start = tmp_path / "given" / "checkpoint"
    stages = "{steps: 1, learning_rate: 0.01, seed: 3}, {average: {of: [stage1, start], weights: [1, 1]}}"
    quick(tmp_path / "run", stages, start=start, data="dogs")
    given, first, mean = (weights(tmp_path / place) for place in ("given", "run/stage1", "run"))
    name = "memory.local_start"
    torch.testing.assert_close(mean[name], (given[name] + first[name]) / 2)
    words = {place: vocabulary_of(tmp_path / place) for place in ("given", "run")}
    assert "dog" in words["run"] and "dog" not in words["given"]
    name = "text.embedding.weight"
    row, before = 2 + words["run"].index("circle"), 2 + words["given"].index("circle")
    torch.testing.assert_close(mean[name][row], (given[name][before] + first[name][row]) / 2)
    # The start has learned nothing of a dog: there it is the vector that the first stage began with.
    begun = build(from_pretrained(tmp_path / "run" / "checkpoint").config, 3).state_dict()
    row = 2 + words["run"].index("dog")
    torch.testing.assert_close(mean[name][row], (begun[name][row] + first[name][row]) / 2)


@pytest.mark.parametrize("place", ["start", "stage1"])
def test_an_average_of_other_networks_is_refused_before_the_first_step(place: str, tmp_path: Path) -> None:
    """Their tensors may have the same shapes: heads share one matrix."""
    mean = f"{{average: {{of: [stage1, {place}], weights: [1, 1]}}}}"
    alike = ["memory.interval=3", "keep_aspect=true"]  # which only the segmenter reads
    if place == "start":
        quick(tmp_path / "given", "{steps: 1}")
        start = tmp_path / "given" / "checkpoint"
        quick(tmp_path / "alike", f"{{steps: 1}}, {mean}", start=start, changes=alike)
    else:
        start = None
        quick(tmp_path / "run", f"{{steps: 1}}, {mean}", changes=alike)
    whole = {path for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(LocaterError, match=rf"^{place} and this run differ in fusion\.heads; only checkpoints of one"):
        quick(tmp_path / "run", f"{{steps: 2}}, {mean}", start=start, changes=["fusion.heads=1"])
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == whole


def vocabulary_of(folder: Path) -> list[str]:
    found: list[str] = json.loads((folder / "checkpoint" / "config.json").read_text())["text"]["vocabulary"]
    return found


def test_a_stage_may_have_data_of_its_own_and_the_words_of_all_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = dogs_beside_shapes(monkeypatch)
    quick(tmp_path, "{steps: 1}, {steps: 1, data: dogs}")
    assert opened[-2:] == ["shapes", "dogs"]
    vocabulary = vocabulary_of(tmp_path / "stage1")
    assert "dog" in vocabulary and "circle" in vocabulary


@pytest.mark.parametrize(
    ("stages", "told"),
    [
        ("{steps: 1, start: stage1}", "stage1 takes weights from 'stage1', which is none of start,"),
        ("{steps: 1, start: start}", "give --start CHECKPOINT"),
        ("{steps: 1}, {average: {of: [stage1, stage2], weights: [1, 1]}}", "stage2 takes weights from 'stage2'"),
        ("{steps: 1}, {average: {of: [stage1], weights: [1]}}", "stage2: of: Tuple should have at least 2 items"),
        ("{steps: 1}, {average: {of: [stage1, start], weights: [1]}}", "weights has to be 2 numbers"),
        (
            "{steps: 1}, {average: {of: [stage1, start], weights: [1, 1], part: {}}}",
            "known here are of, parts, weights",
        ),
        ("{steps: 1}, {average: {of: [stage1, start], weights: [1, 1]}, steps: 2}", "stage2 is an average and nothing"),
        ("{steps: 1, cached_clips: 4}", "it needs is_fine: false"),
        ("{steps: 1, seed: -1}", "seed: Input should be greater than or equal to 0"),
    ],
)
def test_a_wrong_recipe_is_one_sentence_before_anything_is_trained(stages: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(LocaterError) as error:
        quick(tmp_path / "run", stages)
    assert told in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_recipe_is_a_file_that_extends_a_preset_or_another_file(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("extends: tiny\nwidth: 64\nmemory: {heads: 4}\n")
    (tmp_path / "own.yaml").write_text("about: Mine.\nextends: base.yaml\nmemory: {interval: 3}\n")
    config = preset(str(tmp_path / "own.yaml"))
    assert (config.width, config.memory.heads, config.memory.interval, config.image_size) == (64, 4, 3, 64)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("extends: own.yaml", "extends itself"),
        ("extends: papre", "There is no preset 'papre'; the presets are authors, default,"),
        ("extends: [tiny]", "extends is a preset's name or a path"),
        ("extends: missing.yaml", "cannot be read: no such file or directory"),
        ("- tiny", "holds no settings"),
        ("a: [", "is no YAML"),
        ("extends: tiny\nwidht: 3", "'widht' is no known setting"),
    ],
)
def test_a_wrong_file_is_one_sentence(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(LocaterError) as error:
        preset(str(tmp_path / "own.yaml"))
    assert told in str(error.value) and "\n" not in str(error.value)
