"""An encoder that learns and goes on telling ImageNet's classes as the start does."""

from pathlib import Path

import pytest
import torch

from locater.config import TrainingConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import from_pretrained, save_pretrained, with_words_of
from locater.model.locater import Locater
from locater.training.command import train_preset
from locater.training.data.world import WorldData
from locater.training.losses import class_divergence
from locater.worlds.shapes import shapes_batches
from tests.support.recognising import recognising

RECIPE = """
extends: tiny
visual: {kind: efficientnet_lite, deep: true, recognises: true}
text: {kind: vectors, embedding_width: 16, table: TABLE}
training:
  steps: 12
  batch_size: 4
  clip_frames: 1
  global_frames: 0
  validation_videos: 0
  is_fine: false
  optimizer: adamw
  learning_rate: 0.001
"""


@torch.no_grad()
def drift(start: Locater, trained: Locater) -> float:
    torch.manual_seed(1)
    frames = torch.rand(2, 1, 3, 64, 64)
    before, after = (model.eval().visual(frames).class_scores for model in (start, trained))
    assert before is not None and after is not None
    return class_divergence(after, before).item()


def test_classes_are_kept_where_they_weigh_and_lost_where_they_do_not(tmp_path: Path) -> None:
    save_pretrained(recognising(tmp_path), tmp_path / "plain")
    start = with_words_of(tmp_path / "plain", WorldData(shapes_batches(), 64, TrainingConfig(), 5).words())
    save_pretrained(start, tmp_path / "start")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE.replace("TABLE", str(tmp_path / "words.safetensors")), encoding="utf-8")
    drifts = {}
    for weight in (0.0, 20.0):
        out = tmp_path / f"out{weight}"
        changes = [f"training.recognition_weight={weight}"]
        train_preset(str(recipe), "shapes", out, changes, start=tmp_path / "start")
        drifts[weight] = drift(start, from_pretrained(out / "checkpoint"))
    assert drifts[20.0] < 0.5 * drifts[0.0]


def test_classes_cannot_be_kept_of_no_start_or_of_one_that_tells_none(tmp_path: Path) -> None:
    changes = ["training.recognition_weight=0.5", "training.steps=1"]
    with pytest.raises(LocaterError, match="needs a checkpoint whose classes are kept"):
        train_preset("tiny", "shapes", tmp_path / "out", changes)
    save_pretrained(build_tiny(), tmp_path / "tiny")
    with pytest.raises(LocaterError, match="the start tells none"):
        train_preset("tiny", "shapes", tmp_path / "out", changes, start=tmp_path / "tiny")
    assert not (tmp_path / "out").exists()


def build_tiny() -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": ["the", "star"]}}), seed=0)
