"""How many pictures of a pack show what each of its nouns means."""

from dataclasses import replace
from pathlib import Path

import pytest

from locater.training.data.world import WorldData
from locater.worlds.composed import Pack, SceneSampler, Sources, compose, composed_batches
from locater.worlds.composed.pack.photographs import Shown
from locater.worlds.composed.scene.counted_pictures import counted_pictures
from tests.support.composed_sources import SMALL, Marks, make_backgrounds, make_marked
from tests.training.data.test_rehearsal import STILLS

PICTURES: dict[str, Marks] = {
    "two": [("duck", (14, 40, 50, 80)), ("duck", (100, 40, 136, 80))],
    "man": [("person", (60, 20, 100, 90))],
    "woman": [("person", (60, 20, 100, 90))],
}


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    sources = Sources(coco=[make_marked(tmp_path, PICTURES, 48)], backgrounds=[make_backgrounds(tmp_path)])
    compose(sources, tmp_path / "pack", (), replace(SMALL, photographs=60))
    return Pack(tmp_path / "pack")


def test_what_training_shows_is_counted_by_every_name_that_is_true_of_it(pack: Pack) -> None:
    cut = [each.noun for each in pack.cutouts if each.split == "train"]
    photographs = [each for each in pack.photographs if each.split == "train"]
    shown = [thing.noun for photograph in photographs for thing in photograph.things]
    assert len(cut) < len(pack.cutouts) and len(photographs) < len(pack.photographs)
    counts = counted_pictures(pack)
    assert counts["duck"] == cut.count("duck") + shown.count("duck") > 2
    assert counts["bird"] == counts["animal"] == counts["duck"]
    assert counts["person"] == cut.count("person") + shown.count("person") > 1

    by_name = WorldData(composed_batches(SceneSampler(pack)), 64, STILLS, 5).pictures()
    assert by_name["mallard"] == by_name["duck"] == counts["duck"]
    assert by_name["woman"] == counts["person"]  # of whom nobody tells which it is


def surfing(thing: Shown) -> Shown:
    return replace(thing, noun="surfer", broader=("person",)) if thing.noun == "person" else thing


def test_people_count_once_whatever_they_are_called(pack: Pack) -> None:
    before = counted_pictures(Pack(pack.folder))["person"]
    pack.photographs = tuple(replace(each, things=tuple(map(surfing, each.things))) for each in pack.photographs)
    counts = counted_pictures(pack)
    things = [thing for each in pack.photographs if each.split == "train" for thing in each.things]
    surfers = sum(thing.noun == "surfer" for thing in things)  # nobody else is called so
    assert counts["person"] == before > counts["surfer"] == surfers > 0


def test_sprites_show_nothing_as_it_is_filmed(pack: Pack) -> None:
    before = counted_pictures(pack)["duck"]
    ducks = sum(each.noun == "duck" and each.split == "train" for each in pack.cutouts)
    pack.cutouts = tuple(replace(each, is_sprite=True) for each in pack.cutouts)
    assert counted_pictures(pack)["duck"] == before - ducks < before
