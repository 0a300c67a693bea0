"""How many pictures of a pack show what each of its nouns means."""

from dataclasses import replace
from pathlib import Path

from locater.training.data.world import WorldData
from locater.worlds.composed import Pack, SceneSampler, Sources, compose, composed_batches
from locater.worlds.composed.scene.counted_pictures import counted_pictures
from tests.support.composed_sources import SMALL, Marks, make_backgrounds, make_marked
from tests.training.data.test_rehearsal import STILLS

PICTURES: dict[str, Marks] = {
    "two": [("duck", (14, 40, 50, 80)), ("duck", (100, 40, 136, 80))],
    "man": [("person", (60, 20, 100, 90))],
    "woman": [("person", (60, 20, 100, 90))],
}


def test_cutouts_and_things_are_counted_by_every_name_that_is_true_of_them(tmp_path: Path) -> None:
    sources = Sources(coco=[make_marked(tmp_path, PICTURES, 48)], backgrounds=[make_backgrounds(tmp_path)])
    compose(sources, tmp_path / "pack", (), replace(SMALL, photographs=60))
    pack = Pack(tmp_path / "pack")
    cut = [each.noun for each in pack.cutouts]
    shown = [thing.noun for photograph in pack.photographs for thing in photograph.things]
    counts = counted_pictures(pack)
    assert counts["duck"] == cut.count("duck") + shown.count("duck") > 2
    assert counts["bird"] == counts["animal"] == counts["duck"]
    assert counts["person"] == cut.count("person") + shown.count("person") > 1

    by_name = WorldData(composed_batches(SceneSampler(pack)), 64, STILLS, 5).pictures()
    assert by_name["mallard"] == by_name["duck"] == counts["duck"]
    assert by_name["woman"] == counts["person"]  # of whom nobody tells which it is


def test_sprites_show_nothing_as_it_is_filmed(tmp_path: Path) -> None:
    sources = Sources(coco=[make_marked(tmp_path, PICTURES, 48)], backgrounds=[make_backgrounds(tmp_path)])
    compose(sources, tmp_path / "pack", (), replace(SMALL, photographs=60))
    pack = Pack(tmp_path / "pack")
    before = counted_pictures(pack)["duck"]
    pack.cutouts = tuple(replace(each, is_sprite=True) for each in pack.cutouts)
    assert counted_pictures(pack)["duck"] == before - sum(each.noun == "duck" for each in pack.cutouts) < before
