"""A pack's pictures as they lie on a device."""

import pytest
import torch

from locater.worlds.composed import Textures
from locater.worlds.composed.draw import textures
from tests.support.composed_sources import small_pack


@pytest.mark.parametrize("many", [1, 1000])  # read by processes, and by threads
def test_pictures_read_ahead_are_the_same_as_those_that_were_asked_for(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, ahead = Textures(small_pack()), Textures(small_pack())
    numbers = torch.tensor([1])
    expected = plain.photographs(numbers)
    assert plain._known_photographs == {1}
    everything, cutouts = torch.arange(len(small_pack().photographs)), torch.arange(len(small_pack().cutouts))
    plain_photographs, plain_cutouts = plain.photographs(everything), plain.cutouts(cutouts)

    ahead._ahead = 1  # as on a GPU
    monkeypatch.setattr(textures, "_MANY", many)
    monkeypatch.setattr(textures, "_AT_A_TIME", 2)
    before = torch.get_rng_state()
    assert torch.equal(expected, ahead.photographs(numbers))
    assert torch.equal(torch.get_rng_state(), before)  # a training that goes on draws as if it had not stopped
    assert ahead._known_photographs == {0, 1}
    assert torch.equal(plain_photographs, ahead.photographs(everything))
    assert torch.equal(plain_cutouts, ahead.cutouts(cutouts))
