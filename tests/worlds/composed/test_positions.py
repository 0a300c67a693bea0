"""What the scenes on left and right promise: always the same, two of one class, clearly apart, never trained on."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from locater.errors import LocaterError
from locater.worlds.claims import Claim, Description, is_unique, judge, judge_looks
from locater.worlds.composed import Pack, compose
from locater.worlds.composed.position_world import PositionWorld
from locater.worlds.composed.scene.classes import group_of
from locater.worlds.composed.scene.positions import SIDES, PositionSampler, PositionScene
from tests.support.composed_sources import SMALL, make_sources, small_pack
from tests.support.worlds.well_asked import is_well_asked

COUNT = 40


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder = tmp_path_factory.mktemp("positions")
    compose(make_sources(folder), folder / "pack", ["zebra", "boat", "dog", "round toy"], SMALL)
    return Pack(folder / "pack")


@cache
def scenes(pack: Pack, split: str = "heldout") -> list[PositionScene]:
    sampler = PositionSampler(pack, split)
    return [sampler.scene(number) for number in range(COUNT)]


def test_the_set_is_the_same_at_every_call_and_for_any_count(pack: Pack) -> None:
    world, again = PositionWorld(pack, count=6, size=32), PositionWorld(Pack(pack.folder), count=9, size=32)
    assert world.samples() == again.samples()[:12]
    assert len({info.key for info in again.samples()}) == 18
    last, other = world.load(world.samples()[11]), again.load(again.samples()[11])
    for one, two in zip(last.frames.frames(), other.frames.frames(), strict=True):
        np.testing.assert_array_equal(one.pixels, two.pixels)
    for index in last.masks:
        np.testing.assert_array_equal(last.masks[index], other.masks[index])
    # By lot, but the same lot for everybody: figures of two versions can be compared.
    assert [info.expression for info in world.samples()[:2]] == [
        "the dog on the left side",
        "the dog on the right side",
    ]


def test_two_held_out_cut_outs_of_one_class_and_nothing_else_are_called_so(pack: Pack) -> None:
    said, same = set(), 0
    for found in scenes(pack):
        scene = found.scene
        cutouts = scene.actors[scene.thing_count :]
        entries = [pack.cutouts[actor.picture] for actor in cutouts]
        assert len(cutouts) == 2 and {entry.split for entry in entries} == {"heldout"}
        assert not any(entry.is_sprite for entry in entries)  # "round toy" is held out, too
        assert pack.photographs[scene.view.photograph].split in ("heldout", "test")
        assert all(found.noun in (entry.noun, *entry.broader) for entry in entries)
        verdict = judge_looks(scene.description.looks, scene.objects)
        assert sorted(verdict.tolist()) == [-1] * (len(verdict) - 2) + [1, 1]
        said.add(found.noun)
        same += found.is_one_picture
    assert {"zebra", "boat", "dog"} <= said and same == 0


def test_each_is_clearly_on_its_side_and_moves_a_little(pack: Pack) -> None:
    for found in scenes(pack):
        scene, (left, right) = found.scene, (found.actors[side] for side in SIDES)
        assert is_well_asked(scene) and scene.referent == left
        assert scene.poses[left, :, 0].max() <= 0.40 and scene.poses[right, :, 0].min() >= 0.60
        moved = np.abs(scene.objects.paths[[left, right], -1])
        assert (np.hypot(moved[:, 0], moved[:, 1]) > 0.01).all() and moved.max() < 0.06
        assert found.expressions["left"].replace("left", "right") == found.expressions["right"]
        for side in SIDES:
            assert found.expressions[side].split().count(side) == 1
            description = Description(scene.description.looks, Claim("position", side))
            assert is_unique(judge(description, scene.objects), found.actors[side])


def test_masks_are_those_of_the_two(pack: Pack) -> None:
    world = PositionWorld(pack, count=12, size=64)
    for info in world.samples():
        masks, others = world.load(info).masks, world.other(info)
        assert len(masks) == len(others) == 12
        for index in masks:
            assert masks[index].any() and others[index].any() and not (masks[index] & others[index]).any()
            middles = [np.nonzero(mask)[1].mean() / 64 for mask in (masks[index], others[index])]
            assert (middles[0] < 0.45 and middles[1] > 0.55) == (info.kind == "left")


def test_a_class_of_one_picture_is_shown_twice_with_another_touch(pack: Pack) -> None:
    one_each = Pack(pack.folder)
    groups = [group_of(entry) if entry.split == "heldout" else "" for entry in pack.cutouts]
    one_each.cutouts = tuple(
        replace(entry, split="train") if group in groups[:number] else entry
        for number, (group, entry) in enumerate(zip(groups, pack.cutouts, strict=True))
    )
    sampler = PositionSampler(one_each)
    for number in range(8):
        found = sampler.scene(number)
        one, two = found.scene.actors[found.scene.thing_count :]
        assert found.is_one_picture and one.picture == two.picture and one.is_mirrored != two.is_mirrored
        compositing = found.scene.compositing.cutouts
        assert not np.allclose(compositing[0], compositing[1])


def test_other_splits_hold_out_pictures() -> None:
    pack = small_pack()
    for found in scenes(pack, "test"):
        scene = found.scene
        pictures = [pack.cutouts[actor.picture] for actor in scene.actors[scene.thing_count :]]
        assert {entry.split for entry in pictures} == {pack.photographs[scene.view.photograph].split} == {"test"}


def test_too_few_classes_is_one_plain_sentence(tmp_path: Path) -> None:
    with pytest.raises(LocaterError) as error:
        PositionWorld(small_pack())
    message = str(error.value)
    assert message.startswith("Positions needs cut-outs from photographs of at least 3 classes, and the split heldout")
    assert " has 1; hold more out with " in message
    assert message.endswith("or choose --split test.") and "\n" not in message
    with pytest.raises(LocaterError, match=r"is no pack of cut-outs; make one with `locater data compose`\."):
        PositionWorld(tmp_path)
