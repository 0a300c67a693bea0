"""What goes into a pack: whole things with true words, split by their source, and back out the same."""

import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from locater.cli.app import main
from locater.errors import LocaterError
from locater.worlds.composed import Pack, Sources, compose
from locater.worlds.composed.pack.colours import name_colour
from locater.worlds.composed.pack.cutouts import cut_out, largest_piece, on_border
from locater.worlds.composed.pack.nouns import Nouns, broader_nouns, is_fit, nouns_of_photograph
from locater.worlds.composed.pack.pack import split_of
from locater.worlds.composed.pack.sources import masked_pictures, soft_segmentation
from tests.support.composed_sources import (
    PAINT,
    SMALL,
    make_backgrounds,
    make_coco,
    make_pets,
    make_sources,
    make_sprites,
    small_pack,
)


def test_colours_are_named_from_pixels_and_not_when_mixed() -> None:
    everywhere = np.ones((20, 25), dtype=np.bool_)
    for word, rgb in {**PAINT, "brown": (120, 75, 45), "gray": (128, 128, 128), "black": (20, 20, 20)}.items():
        assert name_colour(np.full((20, 25, 3), rgb, dtype=np.uint8), everywhere, "car")[0] == word
    mixed = np.resize(np.array([PAINT["red"], PAINT["blue"]], dtype=np.uint8), (20, 25, 3))
    word, doubtful = name_colour(mixed, everywhere, "car")
    assert word == "" and {"red", "blue"} <= set(doubtful) and "green" not in doubtful


def test_the_colour_of_people_is_that_of_what_they_wear() -> None:
    picture = np.full((50, 20, 3), (120, 75, 45), dtype=np.uint8)  # brown skin,
    picture[10:30] = PAINT["red"]  # a red shirt
    picture[30:] = PAINT["blue"]  # and blue trousers
    inside = np.ones((50, 20), dtype=np.bool_)
    word, doubtful = name_colour(picture, inside, "woman")
    assert word == "red" and {"blue", "brown", "pink"} <= set(doubtful) and "green" not in doubtful
    assert name_colour(picture, inside, "car")[0] == ""
    assert name_colour(np.full_like(picture, (120, 75, 45)), inside, "man")[0] == "", "skin is no shirt"
    assert name_colour(picture, np.zeros_like(inside), "man")[0] == ""


def test_nouns_are_true_false_or_doubtful() -> None:
    nouns = Nouns({"beagle": ("dog", "animal"), "dog": ("animal",), "hot dog": (), "man": (), "person": (), "car": ()})
    assert nouns.doubtful("dog") == {"beagle", "hot dog"}
    assert "animal" not in nouns.doubtful("beagle") and "dog" not in nouns.doubtful("beagle")
    assert "person" in nouns.doubtful("man") and "man" in nouns.doubtful("person")
    assert not nouns.doubtful("car")
    assert broader_nouns("", "cat") == ("cat", "animal")
    assert is_fit("fire truck") and not is_fit("left arrow") and not is_fit("face with a big red nose")
    assert nouns_of_photograph("n02088364_beagle") == ("beagle", "dog")


def test_only_whole_things_are_cut_out() -> None:
    picture = np.full((100, 100, 3), 90, dtype=np.uint8)
    alpha = np.zeros((100, 100), dtype=np.float32)
    alpha[20:70, 30:80] = 1
    cut = cut_out(picture, alpha, 64, "box", (), "a")
    assert cut is not None and max(cut.pixels.shape[:2]) <= 64
    assert cut.centre == pytest.approx((cut.pixels.shape[1] / 2, cut.pixels.shape[0] / 2), abs=0.6)
    at_border = np.zeros_like(alpha)
    at_border[:50, 30:80] = 1
    tiny = np.zeros_like(alpha)
    tiny[40:50, 40:50] = 1
    long = np.zeros_like(alpha)
    long[49:52, 5:95] = 1
    pieces = np.zeros_like(alpha)
    pieces[20:40, 20:80] = pieces[50:80, 20:80] = 1
    assert on_border(at_border > 0) > 0.1 and largest_piece(pieces > 0) < 0.9
    for wrong in (at_border, tiny, long, pieces, np.zeros_like(alpha)):
        assert cut_out(picture, wrong, 64, "box", (), "a") is None


def test_polygons_and_runs_give_the_same_mask() -> None:
    polygon = [[10.0, 10.0, 40.0, 10.0, 40.0, 30.0, 10.0, 30.0]]
    soft = soft_segmentation(polygon, 50, 60, "a file")
    assert soft[12:29, 12:39].min() == 1 and soft[:8].max() == 0 and abs(soft.sum() - 600) < 60
    runs = {"size": [4, 3], "counts": [4, 4, 4]}
    assert soft_segmentation(runs, 4, 3, "a file").tolist() == [[0, 1, 0]] * 4


def test_a_pack_comes_back_as_it_was_made() -> None:
    pack = small_pack()
    again = pickle.loads(pickle.dumps(pack))
    assert again.cutouts == pack.cutouts and again.photographs == pack.photographs
    nouns = {entry.noun for entry in pack.cutouts}
    assert {"dog", "car", "zebra", "boat", "beagle", "saint bernard", "bombay", "round toy"} <= nouns
    assert not {"left arrow", "smile"} & nouns
    for number, entry in enumerate(pack.cutouts[:60]):
        pixels = pack.cutout_pixels(number)
        inside = pixels[..., 3] > 200
        assert inside.sum() == pytest.approx(np.pi * entry.radius**2, rel=0.35)
        if entry.colour:
            np.testing.assert_allclose(pixels[inside].mean(axis=0)[:3], PAINT[entry.colour], atol=25)
    beagle = next(entry for entry in pack.cutouts if entry.noun == "beagle")
    assert beagle.broader == ("dog", "animal")
    for number, photograph in enumerate(pack.photographs):
        numbers = pack.photograph_numbers(number)
        for thing in photograph.things:
            assert (numbers == thing.number).mean() == pytest.approx(thing.share)


def test_a_crowd_and_a_file_s_name_leave_vague_nouns() -> None:
    pack = small_pack()
    by_source = {photograph.source: photograph for photograph in pack.photographs}
    assert "person" in by_source["0000"].vague and "person" not in by_source["0001"].vague
    assert {"beagle", "dog", "person"} <= set(by_source["places/n02088364_beagle"].vague)


def test_splits_hang_on_the_source_and_held_out_classes_stand_alone() -> None:
    pack = small_pack()
    for entry in pack.cutouts:
        assert entry.split == ("heldout" if entry.noun == "zebra" else split_of(entry.source))
    for photograph in pack.photographs:
        shows = any(thing.noun == "zebra" for thing in photograph.things)
        assert photograph.split == ("heldout" if shows else split_of(photograph.source))
    assert {entry.split for entry in pack.cutouts} == {"train", "validation", "test", "heldout"}


def test_the_command_makes_a_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, images = make_coco(tmp_path, 6)
    pets, trimaps = make_pets(tmp_path, 2)
    arguments = ["--coco", file, images, "--masks", "breeds", pets, trimaps, "--sprites", make_sprites(tmp_path)]
    arguments += ["--backgrounds", make_backgrounds(tmp_path, 2), "--out", tmp_path / "pack", "--hold-out", "boat"]
    arguments += ["--cutout-size", 64, "--photograph-size", 64, "--per-noun", 1]
    run(monkeypatch, arguments, 0)
    pack = Pack(tmp_path / "pack")
    nouns = [entry.noun for entry in pack.cutouts]
    assert len(nouns) == len(set(nouns)) and pack.held_out == ("boat",)
    said = capsys.readouterr().out
    assert f"{len(nouns)} cut-outs of {len(nouns)} nouns, 1 of them held out;" in said
    assert sorted(path.name for path in (tmp_path / "pack").iterdir()) == [
        "cutouts.npy",
        "index.json",
        "photographs.npy",
    ]


def test_bad_input_is_answered_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pack"
    file, images = make_coco(tmp_path, 2)
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text(json.dumps({"images": []}))
    (tmp_path / "empty").mkdir()
    cases: list[tuple[list[object], str]] = [
        (["--coco", file], "--coco takes 2 values"),
        (["--coco", tmp_path / "no.json", images], "no.json is missing; name a COCO instance file"),
        (["--coco", tmp_path / "broken.json", images], "is no JSON"),
        (["--coco", tmp_path / "other.json", images], "is no COCO instance file"),
        (["--coco", file, tmp_path / "empty"], "is missing"),
        (["--masks", "dog", images, tmp_path / "empty"], "holds no pictures"),
        (["--sprites", tmp_path / "nowhere"], "There is no folder"),
        (["--backgrounds", images], "No cut-out was found"),
        (["--sprites", make_sprites(tmp_path)], "nothing to compose on"),
        (["--coco", file, images, "--hold-out", "unicorn"], "held-out class 'unicorn'"),
        (["--coco", file, images, "--cutout-size", 50], "multiple of 16"),
    ]
    for arguments, sentence in cases:
        run(monkeypatch, [*arguments, "--out", out], 2)
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1 and said.startswith("Error: "), said
        assert not out.exists()
    with pytest.raises(LocaterError, match="is no pack"):
        Pack(tmp_path)


def test_masks_of_both_trimap_conventions_and_plain_ones(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    values = np.zeros((96, 96), dtype=np.uint8)
    values[20:70, 20:70] = 1
    Image.fromarray(np.full((96, 96, 3), PAINT["red"], dtype=np.uint8)).save(tmp_path / "images" / "a.png")
    areas = []
    for drawn in (values * 255, values * 7, np.where(values, 1, 2).astype(np.uint8)):
        if drawn.max() == 2:
            drawn[0, 0] = 3
        Image.fromarray(drawn).save(tmp_path / "masks" / "a.png")
        found = list(masked_pictures("horse", tmp_path / "images", tmp_path / "masks", 64, 64))
        assert [type(each).__name__ for each in found] == ["Photograph", "CutOut"]
        areas.append(found[1].radius)  # type: ignore[union-attr]
    assert areas == pytest.approx([areas[0]] * 3, rel=0.01)


def test_the_same_sources_give_the_same_pack(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        sources = make_sources(tmp_path / name)
        sources = Sources(sources.coco, sources.masks, sources.sprites, sources.backgrounds)
        compose(sources, tmp_path / name / "pack", (), SMALL)
        contents.append([path.read_bytes() for path in sorted((tmp_path / name / "pack").iterdir())])
    assert contents[0] == contents[1]


def run(monkeypatch: pytest.MonkeyPatch, arguments: list[object], code: int) -> None:
    monkeypatch.setattr(sys, "argv", ["locater", "data", "compose", *(str(each) for each in arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == code
