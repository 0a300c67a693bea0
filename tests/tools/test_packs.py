"""Packs at COCO's scale: made from boxes with masks, and joined with another pack."""

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from locater.io import rle
from locater.worlds.composed import Limits, Pack, SceneSampler, compose
from locater.worlds.composed.pack.pack import CutOutEntry, PhotographEntry, split_of
from locater.worlds.seeds import KINDS, video_seed
from tests.support.composed_sources import PAINT, make_sources, photograph, small_pack
from tools import coco_pack, merge_packs

LEFT, RIGHT = (30, 60, 110, 150), (150, 70, 230, 150)
SHARED = "0003"  # a picture that the made COCO file has as well
HELD = "0999"


def thing(name: str, box: tuple[int, int, int, int], of_mask: tuple[int, int, int, int] | None = None) -> list[Any]:
    """An ellipse as an objects file has it; its mask may be another one than its box says."""
    mask = Image.new("1", (256, 256))
    left, top, right, bottom = of_mask or box
    ImageDraw.Draw(mask).ellipse((left, top, right - 1, bottom - 1), fill=1)
    return [name, *box, 0.95, 0.95, rle.encode(np.array(mask)).decode()]


def write_objects(folder: Path, pictures: dict[str, list[list[Any]]], small: list[list[Any]] | None = None) -> None:
    """An objects file, and its pictures with red and blue things, squashed from 512 x 256."""
    (folder / "pictures").mkdir(parents=True)
    with lzma.open(folder / "objects.jsonl.xz", "wt", encoding="utf-8") as file:
        for number, (source, objects) in enumerate(pictures.items()):
            image = photograph(number, 256, 256)
            for colour, each in zip(("red", "blue"), objects, strict=False):
                ImageDraw.Draw(image).ellipse(tuple(each[1:5]), fill=PAINT[colour])
            image.save(folder / "pictures" / f"{source}.jpg", quality=95)
            line = {"id": source, "width": 512, "height": 256, "size": [256, 256], "objects": objects}
            file.write(json.dumps({**line, "small": small or []}) + "\n")


def made_coco_pack(folder: Path, *options: str) -> Pack:
    """A pack by the real command from what `write_objects` wrote."""
    given = ["--objects", folder / "objects.jsonl.xz", "--pictures", folder / "pictures", "--out", folder / "pack"]
    assert coco_pack.main([*map(str, given), *options]) == 0
    return Pack(folder / "pack")


def entry_of(pack: Pack, source: str) -> PhotographEntry:
    return next(each for each in pack.photographs if each.source == source)


@pytest.fixture(scope="module")
def packs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pack, Pack, Pack]:
    """One pack by `compose`, one by `coco_pack`, and both together."""
    folder = tmp_path_factory.mktemp("packs")
    compose(make_sources(folder / "made"), folder / "base", ["beagle"], Limits(cutout_side=64, photograph_side=256))
    shown = [thing("dog", LEFT), thing("car", RIGHT)]
    write_objects(folder / "coco", {SHARED: shown, "1000": shown, HELD: [thing("zebra", LEFT)]})
    coco = made_coco_pack(folder / "coco")
    assert merge_packs.main([str(folder / "base"), str(coco.folder), "--out", str(folder / "merged")]) == 0
    return Pack(folder / "base"), coco, Pack(folder / "merged")


def test_a_picture_becomes_a_photograph_with_its_things_and_their_cutouts(packs: tuple[Pack, Pack, Pack]) -> None:
    _, coco, _ = packs
    shown = entry_of(coco, SHARED)
    assert shown.aspect == 2.0 and shown.vague == () and shown.split == split_of(SHARED)
    assert {(each.noun, each.colour) for each in shown.things} == {("dog", "red"), ("car", "blue")}
    dog = next(each for each in shown.things if each.noun == "dog")
    assert np.allclose(np.array(dog.box) * 256, LEFT, atol=1)
    cut = next(number for number, each in enumerate(coco.cutouts) if (each.source, each.noun) == (SHARED, "dog"))
    height, width = coco.cutout_pixels(cut).shape[:2]
    assert 1.6 < width / height < 1.9  # 80 x 90 in the square, 160 x 90 in its own shape


def test_held_out_classes_are_apart(packs: tuple[Pack, Pack, Pack]) -> None:
    _, coco, _ = packs
    assert entry_of(coco, HELD).split == "heldout"
    assert {each.split for each in coco.cutouts if each.noun == "zebra"} == {"heldout"}
    assert coco.held_out == ("zebra",)


def test_doubtful_masks_are_vague_and_small_things_too(tmp_path: Path) -> None:
    off = thing("boat", (150, 70, 200, 120), of_mask=(150, 70, 240, 170))  # its box says less than half of it
    write_objects(tmp_path, {"1000": [thing("dog", LEFT), off]}, small=[["cup", 5, 5, 15, 15]])
    pack = made_coco_pack(tmp_path)
    assert [each.noun for each in pack.photographs[0].things] == ["dog"]
    assert set(pack.photographs[0].vague) == {"boat", "cup"}
    assert {each.noun for each in pack.cutouts} == {"dog"}


def test_the_same_mask_twice_is_trusted_once_and_a_crowd_never(tmp_path: Path) -> None:
    people = [["person", left, 170, left + 12, 200] for left in (155, 175, 195)]
    crowd = thing("person", (150, 160, 230, 220))
    nearly = thing("cat", LEFT, of_mask=(32, 62, 110, 150))
    write_objects(tmp_path, {"1000": [thing("dog", LEFT), nearly, crowd]}, small=people)
    pack = made_coco_pack(tmp_path)
    assert [each.noun for each in pack.photographs[0].things] == ["dog"]
    assert set(pack.photographs[0].vague) == {"cat", "person"}


def test_as_many_photographs_as_asked_for_and_rare_ones_first(tmp_path: Path) -> None:
    train = [name for name in map(str, range(2000, 2060)) if split_of(name) == "train"][:9]
    write_objects(tmp_path, {name: [thing("boat" if name == train[4] else "dog", LEFT)] for name in train})
    pack = made_coco_pack(tmp_path, "--photographs", "3")
    assert len(pack.photographs) == 3
    assert train[4] in {each.source for each in pack.photographs}


def test_pictures_of_another_pack_are_left_out(tmp_path: Path) -> None:
    write_objects(tmp_path, {"1000": [thing("dog", LEFT)], "1001": [thing("dog", LEFT)]})
    (tmp_path / "instances.json").write_text('{"images": [{"file_name": "1000.jpg"}]}')
    pack = made_coco_pack(tmp_path, "--leave-out", str(tmp_path / "instances.json"))
    assert {each.source for each in pack.photographs} == {"1001"}


def test_a_merged_pack_has_all_but_what_the_later_one_has_as_well(packs: tuple[Pack, Pack, Pack]) -> None:
    base, coco, merged = packs
    twice = {each.source for each in base.photographs} & {each.source for each in coco.photographs}
    assert twice == {SHARED}
    cut_twice = [each for each in base.cutouts if each.source == SHARED]
    assert len(cut_twice) > 0
    assert len(merged.photographs) == len(base.photographs) + len(coco.photographs) - 1
    assert len(merged.cutouts) == len(base.cutouts) + len(coco.cutouts) - len(cut_twice)
    assert entry_of(merged, SHARED).things == entry_of(coco, SHARED).things
    assert merged.nouns.broader == {**base.nouns.broader, **coco.nouns.broader}
    assert (merged.cutout_side, merged.photograph_side) == (160, 256)


def test_every_picture_of_a_merged_pack_is_as_it_was(packs: tuple[Pack, Pack, Pack]) -> None:
    base, coco, merged = packs

    def where(entry: CutOutEntry | PhotographEntry) -> Pack:
        return coco if entry.source in {each.source for each in coco.photographs} else base

    for number, shown in enumerate(merged.photographs):
        pack = where(shown)
        old = next(place for place, each in enumerate(pack.photographs) if each.source == shown.source)
        assert (merged.photograph_pixels(number) == pack.photograph_pixels(old)).all()
        assert (merged.photograph_numbers(number) == pack.photograph_numbers(old)).all()
    for number, cut in enumerate(merged.cutouts):
        pack = where(cut)
        facts = (cut.source, cut.noun, cut.centre)
        old = next(p for p, each in enumerate(pack.cutouts) if (each.source, each.noun, each.centre) == facts)
        assert np.array_equal(merged.cutout_pixels(number), pack.cutout_pixels(old))


def test_what_one_pack_holds_out_is_held_out_of_all(packs: tuple[Pack, Pack, Pack]) -> None:
    base, _, merged = packs
    assert merged.held_out == ("beagle", "zebra")
    assert {each.split for each in base.cutouts if each.noun == "zebra"} - {"heldout"}
    shown = [each for each in merged.photographs if "zebra" in {thing.noun for thing in each.things}]
    assert len(shown) > 1
    assert {each.split for each in shown} == {"heldout"}
    assert {each.split for each in merged.cutouts if each.noun == "zebra"} == {"heldout"}


def test_scenes_are_made_from_a_merged_pack(packs: tuple[Pack, Pack, Pack]) -> None:
    sampler = SceneSampler(packs[2])
    scenes = [sampler.scene(video_seed("train", kind, number)) for kind in KINDS for number in range(3)]
    assert all(scene.expression for scene in scenes)
    assert {scene.kind for scene in scenes if scene.referent is None} == {"absent"}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("no file", "cannot be read as lines compressed by xz"),
        ("no xz", "cannot be read as lines compressed by xz"),
        ("no lines of objects", "not laid out as published"),
        ("a broken mask", "not laid out as published"),
        ("no picture", "1000.jpg is missing"),
        ("a large picture", "is not 256 x 256 pixels"),
        ("nothing to ask", "no picture with anything to ask about"),
    ],
)
def test_what_cannot_be_made_is_one_sentence_and_nothing_is_written(tmp_path: Path, damage: str, said: str) -> None:
    broken = [*thing("dog", LEFT)[:7], "h5b0"]
    shown = {"a broken mask": [broken], "nothing to ask": []}.get(damage, [thing("dog", LEFT)])
    write_objects(tmp_path, {"1000": shown})
    objects, picture = tmp_path / "objects.jsonl.xz", tmp_path / "pictures" / "1000.jpg"
    if damage == "no file":
        objects.unlink()
    elif damage == "no xz":
        objects.write_text("{}")
    elif damage == "no lines of objects":
        objects.write_bytes(lzma.compress(b'{"id": "1000"}\n'))
    elif damage == "no picture":
        picture.unlink()
    elif damage == "a large picture":
        photograph(0, 512, 256).save(picture)
    with pytest.raises(SystemExit, match=said) as stop:
        made_coco_pack(tmp_path)
    assert "\n" not in str(stop.value)
    assert not (tmp_path / "pack").exists()


def test_no_photographs_are_refused(tmp_path: Path) -> None:
    write_objects(tmp_path, {"1000": [thing("dog", LEFT)]})
    with pytest.raises(SystemExit, match="a photograph at least"):
        made_coco_pack(tmp_path, "--photographs", "0")


def test_packs_that_cannot_be_merged_are_refused(packs: tuple[Pack, Pack, Pack], tmp_path: Path) -> None:
    first = str(packs[0].folder)
    for other, said in ((small_pack().folder, "differ in size"), (tmp_path, "is no pack of cut-outs")):
        with pytest.raises(SystemExit, match=said):
            merge_packs.main([first, str(other), "--out", str(tmp_path / "merged")])
        assert not (tmp_path / "merged").exists()
