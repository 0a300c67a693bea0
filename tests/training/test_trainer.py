"""What a step does, on the CPU."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState

from locater.config import TrainingConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.training.command import with_vocabulary
from locater.training.data.world import WorldData
from locater.training.losses import clip_loss
from locater.training.trainer import Trainer
from locater.worlds.shapes import shapes_batches


@pytest.fixture(autouse=True)
def fresh_accelerate() -> Iterator[None]:
    """accelerate keeps one state per process; these tests want several precisions."""
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


def made(folder: Path, network_changes: dict[str, Any] | None = None, **changes: object) -> Trainer:
    values = {
        "steps": 2, "batch_size": 4, "clip_frames": 2, "global_frames": 2, "validation_videos": 1,
        "learning_rate": 1e-3, "flip": 0.0, **changes,
    }  # fmt: skip
    config = TrainingConfig.model_validate(values)
    data = WorldData(shapes_batches(), 32, config, interval=10)
    # A channel's statistics are those of a micro-batch, so with them a batch in halves is not the whole one.
    network = preset("tiny", {"image_size": 32, "fusion": {"centre": False}, **(network_changes or {})})
    model = build(with_vocabulary(network, data.words()), seed=0)
    return Trainer(model, data, config, folder, seed=0)


def trained(folder: Path, network_changes: dict[str, Any] | None = None, **changes: object) -> Trainer:
    trainer = made(folder, network_changes, **changes)
    trainer.run()
    return trainer


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])


def test_recomputing_activations_changes_nothing(tmp_path: Path) -> None:
    plain, recomputed = trained(tmp_path / "a"), trained(tmp_path / "b", gradient_checkpointing=True)
    torch.testing.assert_close(weights(plain), weights(recomputed), rtol=1e-5, atol=1e-6)


def test_two_halves_accumulated_are_one_batch(tmp_path: Path) -> None:
    whole, halves = trained(tmp_path / "a", steps=1), trained(tmp_path / "b", steps=1, accumulate=2)
    difference = (weights(whole) - weights(halves)).abs()
    assert difference.median() < 1e-6  # Adam's first step is the gradient's sign, so a zero may fall either way
    assert (difference < 1e-5).float().mean() > 0.98


def test_the_average_follows_and_is_what_is_kept(tmp_path: Path) -> None:
    trainer = trained(tmp_path / "a", steps=3, ema_decay=0.9)
    assert trainer.trained is not trainer.model
    first = build(trainer.model.config, seed=0)
    start = torch.cat([parameter.detach().flatten() for parameter in first.parameters()])
    kept = torch.cat([parameter.flatten() for parameter in trainer.trained.parameters()])
    assert 0 < (kept - start).norm() < 1.5 * (weights(trainer) - start).norm()


def test_bfloat16_trains(tmp_path: Path) -> None:
    assert torch.isfinite(weights(trained(tmp_path / "a", precision="bf16"))).all()


PARTS = ("visual", "text", "fusion", "memory", "decoder")


@pytest.mark.parametrize("is_refined", [False, True])
def test_a_stage_trains_the_refiner_alone_or_all_but_it(is_refined: bool, tmp_path: Path) -> None:
    refiner = {"refiner": {"enlarged": 1.0}}
    rates = dict.fromkeys((*PARTS, "auxiliary"), 0.0) if is_refined else {"refiner": 0.0}
    before = made(tmp_path / "a", refiner).model.state_dict()
    model = trained(tmp_path / "b", refiner, is_refined=is_refined, rates=rates).model
    changed = {
        name.split(".")[0] for name, tensor in model.state_dict().items() if not torch.equal(tensor, before[name])
    }
    assert changed == {"refiner"} if is_refined else {*PARTS} <= changed and "refiner" not in changed


def test_data_without_an_end_needs_steps(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"set training\.steps"):
        trained(tmp_path / "a", steps=None)


def test_a_loss_that_stays_no_number_ends_training_and_spares_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> dict[str, torch.Tensor]:
        return {name: value * torch.nan for name, value in clip_loss(*arguments).items()}

    monkeypatch.setattr("locater.training.trainer.clip_loss", broken)
    trainer = made(tmp_path, steps=60, batch_size=1, clip_frames=1, global_frames=1, max_gradient_norm=1.0)
    with pytest.raises(LocaterError, match="not been a number for 50 steps"):
        trainer.run()
    assert weights(trainer).isfinite().all()
