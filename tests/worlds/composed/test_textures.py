"""A pack's pictures as they lie on a device."""

import torch

from locater.worlds.composed import Textures
from tests.support.composed_sources import small_pack


def test_pictures_read_ahead_are_the_same_as_those_that_were_asked_for() -> None:
    plain, ahead = Textures(small_pack()), Textures(small_pack())
    ahead._ahead = 1  # as on a GPU
    numbers = torch.tensor([1])
    assert torch.equal(plain.photographs(numbers), ahead.photographs(numbers))
    assert plain._known_photographs == {1} and ahead._known_photographs == {0, 1}
    everything = torch.arange(len(small_pack().photographs))
    assert torch.equal(plain.photographs(everything), ahead.photographs(everything))
    cutouts = torch.arange(len(small_pack().cutouts))
    assert torch.equal(plain.cutouts(cutouts), ahead.cutouts(cutouts))
