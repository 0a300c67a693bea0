"""Drawing many scenes at once: like with like, within the memory allowed, and the same to the last bit."""

from itertools import pairwise

import pytest
import torch

from locater.worlds.composed import SceneSampler, Textures
from locater.worlds.composed.draw import render as drawing
from locater.worlds.composed.draw.render import SceneBatch, _passes, render
from locater.worlds.composed.scene.view import MOST_THINGS
from locater.worlds.seeds import KINDS, video_seed
from tests.support.composed_sources import small_pack

SIZE = 40


@pytest.mark.parametrize("most", [1, 40, 170, 1000, 10**9])
def test_every_row_is_drawn_once_like_with_like_and_within_the_budget(most: int) -> None:
    pixels = 10
    counts = torch.randint(1, 8, (50,), generator=torch.Generator().manual_seed(3))
    passes = _passes(counts, pixels, most)
    assert sorted(torch.cat(passes).tolist()) == list(range(50))
    for rows in passes:
        assert len(rows) == 1 or len(rows) * int(counts[rows].max()) * pixels <= most
    for before, after in pairwise(passes):
        assert counts[before].max() <= counts[after].min()
        # And none is begun before it must be.
        assert (len(before) + 1) * int(counts[after].min()) * pixels > most


@pytest.mark.parametrize("budget", [1 << 12, 1 << 15, 1 << 19])
def test_scenes_together_are_drawn_as_each_alone_bit_for_bit(budget: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sampler, textures = SceneSampler(small_pack()), Textures(small_pack())
    scenes = [sampler.scene(video_seed("train", kind, number)) for kind in KINDS for number in range(2)]
    indices = torch.tensor([[number % 5, 10, 31 - number] for number in range(len(scenes))])
    assert len({len(scene.actors) - scene.thing_count for scene in scenes}) > 2
    alone = [render(SceneBatch.of([scene]), textures, indices[row : row + 1], SIZE) for row, scene in enumerate(scenes)]
    monkeypatch.setitem(drawing._PIXELS_AT_ONCE, "cpu", budget)
    batch = SceneBatch.of(scenes)
    frames, masks = render(batch, textures, indices, SIZE)
    assert masks.shape == (len(scenes), 3, MOST_THINGS + batch.pictures.shape[1], SIZE, SIZE)
    for row, (own_frames, own_masks) in enumerate(alone):
        assert torch.equal(frames[row], own_frames[0])
        assert torch.equal(masks[row, :, : own_masks.shape[2]], own_masks[0])
        assert not masks[row, :, own_masks.shape[2] :].any()


def test_walls_and_cut_outs_are_counted_and_at_least_one() -> None:
    sampler = SceneSampler(small_pack())
    scenes = [sampler.scene(video_seed("train", kind, number)) for kind in KINDS for number in range(6)]
    counts = SceneBatch.of(scenes).counts().tolist()
    assert counts == [max(len(scene.actors) - scene.thing_count, 1) for scene in scenes]
    assert any(actor.is_occluder for scene in scenes for actor in scene.actors)
    assert any(len(scene.actors) == scene.thing_count for scene in scenes)
