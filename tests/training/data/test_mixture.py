"""Several datasets at once: shares, order and words follow from the clips' numbers, whatever was interrupted."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.model.checkpoint import trained_words
from locater.training.command import train_preset
from locater.training.data.batches import first_number
from locater.training.data.mixture import PERIOD, MixedData, Part
from locater.training.data.sources import open_data
from locater.training.trainer import Progress
from tests.support.command_line.running import run_main
from tests.support.datasets.making_datasets import make_a2d, make_refer_youtube_vos

CPU = torch.device("cpu")
SETTINGS = {
    "image_size": 16, "width": 16, "visual.depth": 1, "visual.width": 16, "fusion.modules": 1,
    "training.batch_size": 4, "training.clip_frames": 2, "training.global_frames": 1, "training.validation_videos": 1,
    "training.validate_every": 1000, "training.learning_rate": 0.003,
}  # fmt: skip


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("datasets")
    make_a2d(folder / "a2d")
    make_refer_youtube_vos(folder / "vos")
    return {"a2d": f"a2d-sentences:{folder / 'a2d'}", "vos": f"refer-youtube-vos:{folder / 'vos'}"}


def mixed(data: dict[str, float], **settings: object) -> MixedData:
    config = TrainingConfig.model_validate({"clip_frames": 2, "global_frames": 1, **settings})
    opened = open_data(data, 16, config, 10)
    assert isinstance(opened, MixedData)
    return opened


def test_every_stretch_of_clips_has_its_shares(roots: dict[str, str]) -> None:
    data = mixed({roots["a2d"]: 3, roots["vos"]: 1})

    assert data.seen(PERIOD) == {"a2d-sentences": 750, "refer-youtube-vos": 250}
    before: dict[str, int] = {"a2d-sentences": 0, "refer-youtube-vos": 0}
    for clips in range(8, 3 * PERIOD, 8):
        seen = dict(data.seen(clips))
        assert {name: seen[name] - before[name] for name in seen} == {"a2d-sentences": 6, "refer-youtube-vos": 2}
        before = seen


def test_each_dataset_goes_through_all_its_sentences_before_any_again(roots: dict[str, str]) -> None:
    data = mixed({roots["a2d"]: 2.5, roots["vos"]: 1})
    heard: dict[int, list[str]] = {0: [], 1: []}
    for first in range(0, 35, 7):
        for place, batch in data.plan([first_number(3) + first + n for n in range(7)], 0.0):
            heard[place] += batch.expressions
    for place, part in enumerate(data.parts):
        sentences = list(part.data.words())
        whole = len(heard[place]) // len(sentences) * len(sentences)
        assert whole and Counter(heard[place][:whole]) == Counter(sentences * (whole // len(sentences)))


def test_a_mixture_has_the_clips_that_its_parts_have_alone(roots: dict[str, str]) -> None:
    data = mixed({roots["a2d"]: 1, "shapes": 1})
    alone = [
        open_data(spec, 16, TrainingConfig(clip_frames=2, global_frames=1), 10) for spec in (roots["a2d"], "shapes")
    ]
    batch = data.draw(data.plan([first_number(1) + n for n in range(4)], 0.0), CPU)
    parts = [each.draw(each.plan([first_number(1), first_number(1) + 1], 0.0), CPU) for each in alone]

    assert batch.expressions == parts[0].expressions + parts[1].expressions
    assert torch.equal(batch.frames, torch.cat([part.frames for part in parts]))
    assert torch.equal(batch.masks, torch.cat([part.masks for part in parts]))
    assert parts[1].motion_targets is not None and batch.motion_targets is None  # of the dataset nobody knows them
    only_world = data.draw(data.plan([first_number(1) + 1], 0.0), CPU)
    assert only_world.motion_targets is None  # a captured step takes the same tensors every time
    worlds = MixedData([Part("one", alone[1], 1.0, is_drawn=True), Part("other", alone[1], 1.0, is_drawn=True)])
    assert worlds.draw(worlds.plan([0, 1], 0.0), CPU).motion_targets is not None


def test_validation_tells_the_datasets_apart(roots: dict[str, str]) -> None:
    data = mixed({roots["a2d"]: 1, "shapes": 1})
    assert "shapes motion" in data.kinds and data.clip_count is None
    batch = data.draw(data.validation("shapes motion", [0]), CPU)
    shapes = open_data("shapes", 16, TrainingConfig(clip_frames=2, global_frames=1), 10)
    assert batch.expressions == shapes.draw(shapes.validation("motion", [0]), CPU).expressions
    both = mixed({roots["a2d"]: 1, roots["vos"]: 1})
    assert both.clip_count == sum(part.data.clip_count or 0 for part in both.parts)


def test_two_roots_of_one_dataset_have_names_of_their_own(roots: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(Path(roots["a2d"].partition(":")[2]), tmp_path / "other")
    data = mixed({roots["a2d"]: 1, f"a2d-sentences:{tmp_path / 'other'}": 1})
    assert list(data.seen(2)) == ["a2d-sentences 1", "a2d-sentences 2"]


def test_a_world_that_is_asked_twice_a_clip_cannot_be_mixed_with_a_dataset(roots: dict[str, str]) -> None:
    with pytest.raises(LocaterError, match=r"one sentence for each clip.*--set training.sentences=1"):
        mixed({roots["a2d"]: 1, "shapes": 1}, sentences=2)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--data", "shapes", "--data", "shapes"], "given twice"),
        (["--data", "shapes", "--data", "a2d-sentences:x", "--weights", "1"], "1 numbers for 2 --data"),
        (["--data", "shapes", "--data", "a2d-sentences:x", "--weights", "1,0"], "numbers above 0"),
        (["--data", "shapes", "--data", "a2d-sentences:x", "--weights", "1,nan"], "numbers above 0"),
        (["--data", "shapes", "--data", "a2d-sentences:x", "--weights", "much"], "no list of weights"),
    ],
)
def test_a_mixture_that_makes_no_sense_is_told_in_a_sentence(
    options: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer = run_main(monkeypatch, capsys, "train", "tiny", *options, "--out", tmp_path / "run")
    assert answer.code == 2 and told in answer.error and not (tmp_path / "run").exists()


def test_a_stage_may_name_a_mixture_of_its_own(roots: dict[str, str], tmp_path: Path) -> None:
    stages = f"[{{steps: 1, data: {{'{roots['a2d']}': 1, '{roots['vos']}': 1}}}}, {{steps: 1}}]"
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    train_preset("tiny", roots["vos"], tmp_path / "run", [*settings, f"training.stages={stages}"])
    first, last = (
        [json.loads(line) for line in (tmp_path / "run" / place / "metrics.jsonl").read_text().splitlines()]
        for place in ("stage1", "")
    )
    assert first[0]["clips"] == {"a2d-sentences": 2, "refer-youtube-vos": 2} and "clips" not in last[0]
    assert (tmp_path / "run" / "stage1" / "report.html").is_file()


class StoppedError(Exception):
    """Somebody pulled the plug."""


def test_an_interrupted_run_goes_on_to_the_same_weights(roots: dict[str, str], tmp_path: Path) -> None:
    settings = [*(f"{name}={value}" for name, value in SETTINGS.items()), "training.steps=20", "training.save_every=10"]
    data = {roots["a2d"]: 3.0, roots["vos"]: 1.0}

    def stop(at: Progress) -> None:
        if at.step == 20:
            raise StoppedError

    train_preset("tiny", data, tmp_path / "whole", settings)
    with pytest.raises(StoppedError):
        train_preset("tiny", data, tmp_path / "stopped", settings, listen=stop)
    assert (tmp_path / "stopped" / "state-00000010").is_dir()
    train_preset("tiny", data, tmp_path / "stopped", settings)
    assert_same_runs(tmp_path / "whole", tmp_path / "stopped", {"a2d-sentences": 60, "refer-youtube-vos": 20})


def assert_same_runs(one: Path, other: Path, clips: dict[str, int]) -> None:
    ours, theirs = (load_file(run / "checkpoint" / "model.safetensors") for run in (one, other))
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    logs = [(run / "metrics.jsonl").read_text() for run in (one, other)]
    assert logs[0] == logs[1]
    assert [json.loads(line) for line in logs[0].splitlines() if "clips" in line][-1]["clips"] == clips
    assert {"a2d-sentences all", "refer-youtube-vos all"} >= set(json.loads(logs[0].splitlines()[-1])["validation"])


@pytest.mark.proof
def test_a_killed_run_goes_on_to_the_same_weights(roots: dict[str, str], tmp_path: Path) -> None:
    settings = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    data = ["--data", roots["a2d"], "--data", roots["vos"], "--weights", "3,1"]
    command = [sys.executable, "-m", "locater", "train", "tiny", *data, "--workers", "1", *settings]
    command += ["--set", "training.steps=30", "--set", "training.save_every=5", "--out"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    whole = subprocess.run(
        [*command, str(tmp_path / "whole")], env=environment, capture_output=True, text=True, check=False
    )
    assert whole.returncode == 0, whole.stderr
    killed = subprocess.Popen([*command, str(tmp_path / "killed")], env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list((tmp_path / "killed").glob("state-*[15]")) and time.monotonic() < deadline:
        time.sleep(0.005)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (tmp_path / "killed" / "state-00000030").exists(), "the run ended before it could be killed"
    subprocess.run([*command, str(tmp_path / "killed")], env=environment, check=True, capture_output=True)
    assert_same_runs(tmp_path / "whole", tmp_path / "killed", {"a2d-sentences": 90, "refer-youtube-vos": 30})
    spoken = set(trained_words(tmp_path / "whole" / "checkpoint"))
    for part in mixed({roots["a2d"]: 1.0, roots["vos"]: 1.0}).parts:
        assert set(" ".join(part.data.words()).lower().split()) <= spoken
