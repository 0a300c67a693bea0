"""A stage on cached features: what it caches, that it learns by the network's own steps, and what it refuses."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState
from safetensors.torch import load_file

from locater.config import TrainingConfig, parse_training, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.locater import Locater
from locater.training.command import with_vocabulary
from locater.training.data.features import FeatureCache, features_of
from locater.training.data.world import WorldData
from locater.training.inputs import CLIPS_AT_ONCE, CachedInputs, ClipInputs, FromClips, FromFeatures, Share
from locater.training.losses import clip_loss
from locater.training.optimizer import freeze
from locater.training.trainer import Trainer
from locater.worlds.shapes import shapes_batches

FROZEN = dict.fromkeys(("visual", "text", "fusion", "auxiliary"), 0.0)
SHARE = Share(seed=0, rank=0, processes=1, workers=0, device=torch.device("cpu"))


@pytest.fixture(autouse=True)
def fresh_accelerate() -> Iterator[None]:
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def config(**changes: Any) -> TrainingConfig:
    values = {
        "steps": 4, "batch_size": 3, "sentences": 2, "clip_frames": 2, "global_frames": 0, "is_fine": False,
        "rates": FROZEN, "cached_clips": 7, "validation_videos": 1, "learning_rate": 1e-3, "save_every": 2,
        "dice_weight": 1.0, "ema_decay": 0.9, **changes,
    }  # fmt: skip
    return parse_training(values, "test")


def network(data: WorldData) -> Locater:
    changes = {"image_size": 32, "memory": {"motion_targets": 20, "read_mlp": True}}
    return build(with_vocabulary(preset("tiny", changes), data.words()), seed=0)


def made(settings: TrainingConfig) -> tuple[Locater, WorldData]:
    data = WorldData(shapes_batches(), 32, settings, interval=10)
    model = network(data)
    freeze(model, settings)
    return model, data


def test_a_step_on_features_is_the_step_on_their_clips() -> None:
    settings = config(flip=0.5)
    model, data = made(settings)
    drawn = ClipInputs(model, data, settings, SHARE)
    batch, tokens = drawn.prepared(next(drawn.plans(1, 0)), 0)
    model.train()
    with torch.no_grad():
        whole = FromClips(model, settings)(batch, tokens)
        cache = FeatureCache(3, iter([features_of(model, batch, "no")]))
        assert model.training
        kept = cache.draw(torch.arange(3))
        from_features = FromFeatures(model)(kept)
    torch.testing.assert_close(from_features.logits, whole.logits, rtol=2e-2, atol=2e-2)  # V is kept in fp16
    assert whole.motion_targets is not None and from_features.motion_targets is not None
    torch.testing.assert_close(from_features.motion_targets, whole.motion_targets, rtol=2e-2, atol=2e-2)
    ours, theirs = clip_loss(from_features, kept, 0.4, 1.0, 5.0), clip_loss(whole, batch, 0.4, 1.0, 5.0)
    assert ours.keys() == theirs.keys() - {"auxiliary"}
    torch.testing.assert_close(ours["motion_targets"], theirs["motion_targets"], rtol=1e-2, atol=1e-3)
    torch.testing.assert_close(ours["mask"], theirs["mask"], rtol=5e-2, atol=1e-3)  # in cells of four pixels


def test_what_is_too_small_for_a_cell_is_there_all_the_same() -> None:
    settings = config(flip=0.0, sentences=1)
    model, data = made(settings)
    drawn = ClipInputs(model, data, settings, SHARE)
    batch, tokens = drawn.prepared(next(drawn.plans(1, 0)), 0)
    masks = torch.zeros_like(batch.masks)
    masks[0, 1, 5, 6] = 1  # one pixel of sixteen
    masks[1] = 0.3  # a start's answer: hardly likely anywhere
    batch = replace(batch, masks=masks, is_annotated=torch.ones_like(batch.is_annotated))
    with torch.no_grad():
        prediction = FromClips(model, settings)(batch, tokens)
    presence = torch.randn(3, 2)
    prediction = replace(prediction, presence=presence)
    kept = FeatureCache(3, iter([features_of(model, batch, "no")])).draw(torch.arange(3))
    truth = torch.tensor([1.0, 0.0, 0.0])[:, None].expand(3, 2)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(presence, truth)
    for supervision in (batch, kept):
        terms = clip_loss(prediction, supervision, 0.0, 0.0, 0.0)
        torch.testing.assert_close(terms["presence"], expected)


def test_a_batch_is_a_function_of_its_number_and_holds_whole_clips() -> None:
    settings = config(cached_clips=CLIPS_AT_ONCE + 3, batch_size=50)  # the last batch that fills the cache is cut
    model, data = made(settings)
    inputs, again = (CachedInputs(model, data, settings, SHARE) for _ in range(2))
    first, second = inputs.prepared(0, 0)[0], inputs.prepared(1, 1)[0]
    assert inputs._cache is not None and inputs._cache.clips == CLIPS_AT_ONCE + 3
    (after_a_restart,) = again.prepared(1, 1)
    for name in ("values", "words", "times", "masks", "motion_targets"):
        assert torch.equal(getattr(second, name), getattr(after_a_restart, name))
        assert not torch.equal(getattr(second, name), getattr(first, name))
    assert first.values.shape[:2] == (100, 2) and first.times.shape[0] == 50 and first.masks.shape[-1] == 8
    assert list(inputs.plans(steps=6, first_step=4)) == [4, 5]


def test_a_stage_moves_memory_and_readout_alone_and_resumes_to_the_same_weights(tmp_path: Path) -> None:
    def run(folder: Path, steps: int) -> Trainer:
        settings = config(steps=4)
        data = WorldData(shapes_batches(), 32, settings, interval=10)
        trainer = Trainer(network(data), data, settings, folder)
        trainer.steps = steps
        trainer.run()
        return trainer

    whole = run(tmp_path / "whole", 4)
    run(tmp_path / "parts", 2)  # as one that was killed after its second step
    resumed = run(tmp_path / "parts", 4)
    ours, theirs = (load_file(tmp_path / name / "checkpoint" / "model.safetensors") for name in ("parts", "whole"))
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    before = network(WorldData(shapes_batches(), 32, config(), interval=10)).state_dict()
    moved = {
        name.split(".")[0] for name, tensor in whole.model.state_dict().items() if not torch.equal(tensor, before[name])
    }
    assert moved == {"memory", "decoder", "motion_targets"}
    last = [(tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1] for name in ("whole", "parts")]
    assert last[0] == last[1] and "validation" in last[0]
    finished = Trainer(resumed.model, resumed.data, resumed.config, tmp_path / "whole")
    finished.run()
    assert isinstance(finished.inputs, CachedInputs) and finished.inputs._cache is None  # a finished stage fills none


def test_what_still_learns_before_v_is_refused(tmp_path: Path) -> None:
    settings = config(rates={"visual": 0.0, "text": 0.0})
    data = WorldData(shapes_batches(), 32, settings, interval=10)
    with pytest.raises(LocaterError, match=r"made of each clip, so it may not learn; .* \{fusion: 0\.0\}\.$"):
        Trainer(network(data), data, settings, tmp_path)


@pytest.mark.parametrize("wrong", [{"is_fine": True}, {"global_frames": 2}, {"curriculum": {"absent": 0.5}}])
def test_what_no_cache_keeps_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LocaterError, match="it needs is_fine: false, global_frames: 0 and no curriculum"):
        config(**wrong)


def test_processes_share_batches_and_clips() -> None:
    settings = config(batch_size=4, cached_clips=8)
    model, data = made(settings)
    shares = [Share(0, rank, 2, 0, torch.device("cpu")) for rank in (0, 1)]
    first, second = (CachedInputs(model, data, settings, share).prepared(0, 0)[0] for share in shares)
    assert len(first.times) == len(second.times) == 2
    assert not torch.equal(first.values, second.values)
    with pytest.raises(LocaterError, match="cannot be shared by 3 processes"):
        CachedInputs(model, data, settings, Share(0, 0, 3, 0, torch.device("cpu")))
