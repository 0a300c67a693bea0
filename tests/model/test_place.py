"""Where a patch is."""

import torch

from locater.config import preset
from locater.model.build import build
from locater.model.place import PlaceEmbedding


def test_places_are_the_same_on_every_grid() -> None:
    place = PlaceEmbedding(16)
    fine, coarse = place((9, 9)).unflatten(0, (9, 9)), place((3, 3)).unflatten(0, (3, 3))
    torch.testing.assert_close(fine[1::3, 1::3], coarse)
    assert not torch.allclose(coarse[0, 1], coarse[1, 0], atol=0.1)


def test_a_convolutional_encoder_knows_left_from_right() -> None:
    """A grey frame looks alike everywhere; what is left of it is the place, on a wide frame too."""
    model = build(preset("tiny", {"visual": {"kind": "efficientnet_lite", "deep": True}}), seed=0).eval()
    patches = model.visual(torch.full((1, 1, 3, 64, 128), 0.5)).patches[0, 0].unflatten(0, (4, 8))
    middle = patches[1:3, 2:6]  # away from the padding
    assert (middle[:, 0] - middle[:, -1]).abs().mean() > 0.3
