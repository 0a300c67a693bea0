"""What a step does, on the CPU."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate.state import AcceleratorState

from locater.config import TrainingConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import from_pretrained
from locater.model.locater import ClipPrediction, Locater
from locater.training.command import with_vocabulary
from locater.training.data.world import WorldData
from locater.training.losses import clip_loss
from locater.training.metrics_log import read_events
from locater.training.moving_average import WeightAverage
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
    saved = from_pretrained(tmp_path / "a" / "checkpoint")
    assert torch.equal(kept, torch.cat([parameter.detach().flatten() for parameter in saved.parameters()]))


def test_the_average_moves_by_one_less_the_decay_and_faster_at_first() -> None:
    model = build(preset("tiny"), seed=0)
    average = WeightAverage(model, decay=0.9)
    name, weight = next(iter(model.named_parameters()))
    first = weight.detach().clone()
    for step, expected in ((0, 0.9), (1000, 0.9 + 0.1 * (2 - 0.9))):  # (1 + step) / (10 + step) is 0.1 at step 0
        with torch.no_grad():
            weight.add_(1)
        average.update(model, step)
        torch.testing.assert_close(average.model.get_parameter(name), first + expected)


def test_a_training_leaves_a_page_with_its_curves_and_pictures(tmp_path: Path) -> None:
    trainer = trained(tmp_path / "a", steps=3, validation_videos=1)
    page = (tmp_path / "a" / "report.html").read_text("utf-8")
    events = read_events(tmp_path / "a" / "metrics.jsonl")
    (scores,) = (event["validation"] for event in events if "validation" in event)
    assert page.count("data:image/jpeg;base64,") == len(scores) == len(trainer.data.kinds)
    assert all(f"{100 * score:.2f}" in page for score in scores.values())
    assert "Loss and its terms" in page and page.count("<polyline") >= 4 and "training.clip_frames" in page


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


LITTLE: dict[str, Any] = {"batch_size": 2, "clip_frames": 1, "global_frames": 1, "validation_videos": 0}


def test_training_mirrors_clips_as_often_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[float, list[torch.Tensor]] = {}
    forward = Locater.forward

    def spied(model: Locater, frames: torch.Tensor, *others: Any) -> ClipPrediction:
        seen[chance].append(frames)
        return forward(model, frames, *others)

    monkeypatch.setattr(Locater, "forward", spied)
    for chance in (0.0, 1.0, 0.5):
        seen[chance] = []
        trained(tmp_path / str(chance), steps=3, flip=chance, **LITTLE)
    plain, mirrored, either = (torch.cat(frames) for frames in seen.values())
    assert torch.equal(mirrored, plain.flip(-1))
    is_mirrored = [torch.equal(one, other) for one, other in zip(either, mirrored, strict=True)]
    assert 0 < sum(is_mirrored) < len(is_mirrored)


def test_every_step_has_the_rate_of_its_schedule(tmp_path: Path) -> None:
    trainer = made(tmp_path, steps=4, warmup_steps=1, learning_rate=1e-3, rates={"text": 0.5}, **LITTLE)
    seen: list[list[float]] = []
    trainer.optimizer.register_step_pre_hook(
        lambda optimizer, *_: seen.append(sorted({group["lr"] for group in optimizer.param_groups}))
    )
    trainer.run()
    for found, scale in zip(seen, (1 / 2, 1.0, (2 / 3) ** 0.9, (1 / 3) ** 0.9), strict=True):
        assert found == pytest.approx([0.5e-3 * scale, 1e-3 * scale])


def test_a_gradient_is_cut_to_the_largest_norm(tmp_path: Path) -> None:
    start = weights(made(tmp_path / "start"))
    once: dict[str, Any] = {**LITTLE, "steps": 1, "weight_decay": 0.0}
    free = weights(trained(tmp_path / "free", **once)) - start
    # Far below Adam's epsilon, so that its step is small too.
    cut = weights(trained(tmp_path / "cut", max_gradient_norm=1e-12, **once)) - start
    assert free.abs().max() > 5e-4 and cut.abs().max() < 1e-6


def test_an_interrupted_run_draws_the_same_random_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stochastic depth draws them at every step: a run that goes on with others goes another way."""
    network = {"visual": {"kind": "efficientnet_lite", "drop_path": 0.8}}
    settings: dict[str, Any] = {**LITTLE, "steps": 4, "save_every": 2}
    torch.manual_seed(0)
    whole = trained(tmp_path / "whole", network, **settings)
    calls = []

    def dying(*arguments: Any) -> dict[str, torch.Tensor]:
        calls.append(arguments)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return clip_loss(*arguments)

    torch.manual_seed(0)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("locater.training.trainer.clip_loss", dying)
        trained(tmp_path / "killed", network, **settings)
    torch.manual_seed(1)  # as another process would have it
    resumed = trained(tmp_path / "killed", network, **settings)
    logs = [(tmp_path / name / "metrics.jsonl").read_text().splitlines() for name in ("whole", "killed")]
    assert [json.loads(line) for line in logs[1]] == [json.loads(line) for line in logs[0]]
    assert torch.equal(weights(resumed), weights(whole))
