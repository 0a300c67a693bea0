"""Training on annotated datasets, over their official layouts made small."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from locater.config import TrainingConfig
from locater.datasets.catalog import open_dataset
from locater.errors import LocaterError
from locater.records import Frame
from locater.training.command import train_preset
from locater.training.data.batches import training_plans
from locater.training.data.dataset_clips import DatasetData
from locater.training.data.sources import open_data
from locater.training.trainer import total_steps
from tests.support.datasets.making_datasets import Truth, make_a2d, make_folder, make_refer_youtube_vos

CONFIG = TrainingConfig(batch_size=2, clip_frames=3, global_frames=2, clip_strides=(1, 2))


def opened(root: Path, name: str = "a2d-sentences", config: TrainingConfig = CONFIG) -> DatasetData:
    data = open_data(f"{name}:{root}", 16, config, 10)
    assert isinstance(data, DatasetData)
    return data


@pytest.mark.parametrize(
    ("name", "make"),
    [("a2d-sentences", make_a2d), ("refer-youtube-vos", make_refer_youtube_vos), ("folder", make_folder)],
)
def test_a_dataset_trains_through_the_command(tmp_path: Path, name: str, make: Callable[[Path], Truth]) -> None:
    make(tmp_path / "root")
    settings = ["image_size=16", "training.epochs=1", "training.batch_size=1", "training.clip_frames=2",
                "training.global_frames=2", "training.validation_videos=1"]  # fmt: skip
    scores = train_preset("tiny", f"{name}:{tmp_path / 'root'}", tmp_path / "run", settings)
    assert all(0 <= score <= 1 for score in scores.values())
    assert (tmp_path / "run" / "checkpoint" / "model.safetensors").exists()


def test_clips_hold_an_annotated_frame_and_its_true_mask(tmp_path: Path) -> None:
    truth = make_a2d(tmp_path)
    data = opened(tmp_path)
    frames: dict[str, list[Frame]] = {}
    dataset = open_dataset("a2d-sentences", tmp_path, "train")
    for info in dataset.samples():
        frames[info.expression] = list(dataset.load(info).frames.frames())
    keys = {info.expression: info.key for info in dataset.samples()}
    for number in range(12):
        batch = data.plan([number], 0.0)
        assert batch.is_annotated.any()
        text = batch.expressions[0]
        for place in batch.is_annotated[0].nonzero().flatten().tolist():
            second = float(batch.times[0, place, 0])
            index = min(frames[text], key=lambda frame: abs(frame.timestamp - second)).index
            true = truth[keys[text]][index]
            share = float(batch.masks[0, place].mean())
            assert abs(share - true.mean()) < 0.15
        assert not batch.masks[0][~batch.is_annotated[0]].any()


def test_an_epoch_has_every_sentence_once_in_an_order_of_the_seeds(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    data = opened(tmp_path)
    count = data.clip_count
    epoch = [data.plan([number], 0.0).expressions[0] for number in range(count)]
    assert sorted(epoch) == sorted(data.words())
    again = [plan.expressions for plan in training_plans(data, CONFIG, 0, 3, 1, 0, 1, 0)]
    whole = [plan.expressions for plan in training_plans(data, CONFIG, 0, 3, 0, 0, 1, 0)]
    assert again == whole[1:]


def test_every_epoch_has_every_sentence_in_an_order_of_its_own(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    config = CONFIG.model_copy(update={"batch_size": 1, "epochs": 8})
    data = opened(tmp_path, config=config)
    count, steps = data.clip_count, total_steps(config, data)
    assert count > 1 and steps == 8 * count
    said = [plan.expressions[0] for plan in training_plans(data, config, 0, steps, 0, 0, 1, 0)]
    epochs = [said[first : first + count] for first in range(0, steps, count)]
    assert all(sorted(epoch) == sorted(data.words()) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_global_frames_come_from_the_whole_video(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    batch = opened(tmp_path, config=CONFIG.model_copy(update={"global_frames": 4})).plan([0], 0.0)
    fractions = batch.global_times[0, :, 1]
    assert fractions[0] == 0 and fractions[-1] >= 0.5 and np.all(np.diff(fractions.numpy()) >= 0)
    assert batch.frames.shape == (1, 3, 3, 16, 16) and batch.frames.dtype == torch.float32


def test_what_cannot_be_trained_on_is_said(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="for evaluation alone"):
        opened(tmp_path, "jhmdb-sentences")
    with pytest.raises(LocaterError, match="There is no folder"):
        opened(tmp_path / "nowhere")
