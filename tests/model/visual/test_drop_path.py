"""Stochastic depth leaves out whole branches of whole frames, in training only."""

import pytest
import torch

from locater.model.visual.drop_path import DropPath, rising_rates
from locater.model.visual.efficientnet import EfficientNetLite
from locater.model.visual.encoder import VisualEncoder
from locater.model.visual.tiny_vit import TinyViT


def test_frames_are_dropped_whole_and_the_mean_stays() -> None:
    torch.manual_seed(0)
    drop = DropPath(0.25).train()

    result = drop(torch.ones(4000, 2, 3))

    assert result.unique().tolist() == pytest.approx([0, 4 / 3])
    assert torch.equal(result.amin((1, 2)), result.amax((1, 2)))
    assert float(result.mean()) == pytest.approx(1, abs=0.03)


def test_evaluation_and_a_rate_of_nothing_change_nothing() -> None:
    branch = torch.randn(5, 2)

    assert torch.equal(DropPath(0.9).eval()(branch), branch)
    assert torch.equal(DropPath(0.0).train()(branch), branch)
    with pytest.raises(ValueError, match=r"chance 1\.0"):
        DropPath(1.0)


def test_rates_rise_from_nothing() -> None:
    assert rising_rates(0.2, 5) == pytest.approx([0, 0.05, 0.1, 0.15, 0.2])
    assert rising_rates(0.2, 1) == [0]


@pytest.mark.parametrize(
    "encoder",
    [EfficientNetLite(variant="lite0", width=8, deep=True, drop_path=0.5), TinyViT(width=8, drop_path=0.5)],
    ids=["efficientnet_lite", "tiny_vit"],
)
@torch.no_grad()
def test_encoders_pass_it_on_to_their_blocks(encoder: VisualEncoder) -> None:
    frames = torch.rand(1, 1, 3, 32, 32)
    rates = [module.rate for module in encoder.modules() if isinstance(module, DropPath)]

    assert rates == sorted(rates) and (rates[0], rates[-1]) == (0.0, 0.5)
    assert not torch.equal(encoder.train()(frames).patches, encoder(frames).patches)
    assert torch.equal(encoder.eval()(frames).patches, encoder(frames).patches)
