import pytest
import torch
from torch import nn

from locater.config import TrainingConfig, preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.fusion import ChannelNorm
from locater.training.optimizer import freeze, make_optimizer, polynomial, rate_scale, skip_unless_finite


def test_the_rate_rises_then_falls_to_nothing() -> None:
    scale = polynomial(steps=100, warmup_steps=10, power=0.9)
    rates = [scale(step) for step in range(101)]
    assert rates[:11] == sorted(rates[:11]) and rates[10] == 1.0
    assert rates[10:] == sorted(rates[10:], reverse=True) and rates[100] == 0.0
    assert rates[55] == pytest.approx(0.5**0.9)


def test_pretrained_encoders_learn_slower_the_lower_the_block() -> None:
    model = build(preset("tiny"), seed=0)
    visual = model.config.visual.model_copy(update={"pretrained": "some/weights"})
    model.config = model.config.model_copy(update={"visual": visual})
    config = TrainingConfig(encoder_rate=0.1, layer_decay=0.5)
    scales = {name: rate_scale(name, model, config) for name, _ in model.named_parameters()}
    assert scales["visual.blocks.1.norm1.weight"] == pytest.approx(0.1)
    assert scales["visual.blocks.0.norm1.weight"] == pytest.approx(0.05)
    assert scales["visual.patch_embedding.weight"] == pytest.approx(0.025)
    assert scales["visual.early_stem.stages.0.0.weight"] == scales["fusion.steps.0.visual_type"] == 1.0


def test_parts_learn_at_their_own_rates_and_frozen_ones_not_at_all() -> None:
    model = build(preset("tiny"), seed=0)
    config = TrainingConfig(rates={"visual": 0.0, "fusion": 0.5, "fusion.steps.0": 0.1})
    freeze(model, config)
    assert not any(parameter.requires_grad for parameter in model.visual.parameters())
    assert all(parameter.requires_grad for parameter in model.memory.parameters())
    assert rate_scale("fusion.steps.0.visual_type", model, config) == 0.1
    assert rate_scale("fusion.norm.weight", model, config) == 0.5
    trained = {id(p) for group in make_optimizer(model, config).param_groups for p in group["params"]}
    assert not trained & {id(p) for p in model.visual.parameters()}
    freeze(model, TrainingConfig())  # a later stage lets them learn again
    assert all(parameter.requires_grad for parameter in model.parameters())
    with pytest.raises(LocaterError, match="no part 'memry'"):
        freeze(model, TrainingConfig(rates={"memry": 0.0}))


def test_a_frozen_fusion_keeps_the_statistics_of_v() -> None:
    model = build(preset("tiny"), seed=0).train()
    norm = model.fusion.norm
    assert isinstance(norm, ChannelNorm)
    seen = torch.randn(64, norm.statistics.num_features) + 5

    def moved() -> bool:
        middle = norm.statistics.get_buffer("running_mean")
        before = middle.clone()
        norm(seen)
        return not torch.equal(before, middle)

    assert moved()
    freeze(model, TrainingConfig(rates={"fusion": 0.0}))
    assert not moved()
    model.train()  # as the training loop says after each validation
    assert not moved()
    assert torch.equal(norm(seen), norm.eval()(seen))
    model.train()
    freeze(model, TrainingConfig())  # a later stage
    assert moved()


def test_every_weight_is_in_one_group_and_adamw_spares_vectors() -> None:
    model = build(preset("tiny"), seed=0)
    optimizer = make_optimizer(model, TrainingConfig(optimizer="adamw", weight_decay=0.1))
    grouped = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    assert len(grouped) == len({id(p) for p in grouped}) == len(list(model.parameters()))
    for group in optimizer.param_groups:
        assert all((p.ndim > 1) == (group["weight_decay"] > 0) for p in group["params"])


def test_new_parts_of_a_joined_encoder_learn_at_the_full_rate() -> None:
    lite = {"kind": "efficientnet_lite", "deep": True}
    model = build(preset("tiny", {"visual": {"kind": "joined", "what": lite, "where": {"kind": "tiny_vit"}}}), seed=0)
    visual = model.config.visual
    joined = visual.model_copy(update={"what": visual.what.model_copy(update={"pretrained": "some/weights"})})  # type: ignore[union-attr]
    model.config = model.config.model_copy(update={"visual": joined})
    config = TrainingConfig(encoder_rate=0.1)
    scales = {name: rate_scale(name, model, config) for name, _ in model.named_parameters() if "visual." in name}
    is_new = {name: ".projection." in name or ".place." in name for name in scales}
    assert {scale for name, scale in scales.items() if is_new[name]} == {1.0}
    assert {scale for name, scale in scales.items() if not is_new[name]} == {0.1}


def test_a_network_with_a_frozen_convolutional_encoder_learns() -> None:
    """PyTorch 2.13 crashed the process here, on maps with channels last that need no gradient."""
    model = build(preset("tiny", {"visual": {"kind": "efficientnet_lite"}, "decoder": {"upsampling": "fine"}}), seed=0)
    freeze(model, TrainingConfig(rates={"visual.stem": 0.0, "visual.stages": 0.0}))
    frames, times = torch.rand(2, 2, 3, 64, 64), torch.rand(2, 2, 2)
    tokens = model.read(["a", "the dog"])
    model(frames, times, frames, times, tokens).logits.square().mean().backward()
    assert model.visual.stem.conv.weight.grad is None  # type: ignore[union-attr]
    assert model.decoder.upsampler and model.decoder.upsampler.early_norms[0].weight.grad is not None


@pytest.mark.parametrize("fused", [False, True])
def test_gradients_that_are_no_numbers_change_nothing(fused: bool) -> None:
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.AdamW([weight], lr=0.1, weight_decay=0.1, fused=fused)
    for gradient, is_changed in ((float("nan"), False), (1.0, True), (float("inf"), False)):
        before = weight.detach().clone()
        weight.grad = torch.full((3,), gradient)
        skip_unless_finite(optimizer, nn.utils.clip_grad_norm_([weight], 1.0))
        optimizer.step()
        assert weight.isfinite().all() and bool((weight != before).any()) == is_changed
