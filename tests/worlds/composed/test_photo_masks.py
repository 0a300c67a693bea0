"""Masks found in photographs: what is kept and why not, under which nouns, and that no stop loses a line."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from locater.cli.app import main
from locater.errors import LocaterError
from locater.io import rle
from locater.worlds.composed import Limits, Pack, Sources, compose
from locater.worlds.composed.pack import kinds as kinds_module
from locater.worlds.composed.pack.cutouts import pieces
from locater.worlds.composed.pack.holdout import HoldOut
from locater.worlds.composed.pack.measures import Measures, measure
from locater.worlds.composed.pack.nouns import is_fit, noun_of_photograph
from locater.worlds.composed.pack.photo_masks import kept_masks, mask_photographs, mask_size, why_not
from locater.worlds.composed.pack.saliency import SaliencyModel
from tests.support.photo_sources import draw_photograph, make_model, make_photographs

SURE = Measures(area=0.3, inside=0.97, agreement=0.95, edge=1.0, sides=0, border=0.0, pieces=1, piece=1.0)


def run(monkeypatch: pytest.MonkeyPatch, command: str, arguments: list[object], code: int) -> None:
    monkeypatch.setattr(sys, "argv", ["locater", "data", command, *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == code


def lines_of(file: Path) -> dict[str, dict[str, object]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return {line["file"]: line for line in lines[1:]}


@pytest.mark.parametrize(
    ("name", "noun", "broader"),
    [
        ("n02085620_Chihuahua", "chihuahua", ("dog", "animal")),
        ("n02085620_1234_Chihuahua", "chihuahua", ("dog", "animal")),
        ("n02119022_red_fox", "fox", ("animal",)),  # a colour in a name would clash with sentences' colours
        ("n01514668_cock", "rooster", ("bird", "animal")),
        ("n02281787_lycaenid", "butterfly", ("insect", "animal")),
        ("n03445777_golf_ball", "golf ball", ("ball",)),
        ("n04285008_sports_car", "sports car", ("car", "vehicle")),
        ("n02835271_bicycle-built-for-two", "tandem bicycle", ("bicycle", "vehicle")),
        ("n09193705_alp", "", ()),
        ("teapot_003", "teapot", ()),
        ("ping-pong_ball 12", "ping-pong ball", ("ball",)),
        ("0042", "", ()),
    ],
)
def test_file_names_become_nouns_that_people_say(name: str, noun: str, broader: tuple[str, ...]) -> None:
    assert noun_of_photograph(name) == (noun, broader)


def test_the_table_of_kinds_says_everything_once() -> None:
    text = (Path(kinds_module.__file__).parent / "kinds.txt").read_text()
    named = [noun for line in re.findall(r"(?m)^[a-z ]+: (.+)$", text) for noun in line.split(", ")]
    numbers = [number for line in re.findall(r"(?m)^(n\d{8} =|-.+)", text) for number in re.findall(r"n\d{8}", line)]
    assert len(named) == len(set(named)) and len(numbers) == len(set(numbers)) and len(numbers) > 200
    table = kinds_module.kinds()
    assert table.chain("monarch butterfly") == ("butterfly", "insect", "animal")
    for kind in {*table.kind_of.values(), *(run[2] for run in table.runs)} - kinds_module.BROADEST:
        chain = table.chain(kind)
        assert kind not in chain and all(a <= b for a, b, _ in table.runs)
    assert all(noun == "" or is_fit(noun) for noun in table.said.values())


def test_each_reason_has_its_measure() -> None:
    assert why_not(SURE) == ""
    assert why_not(replace(SURE, area=0.01)) == "too small"
    assert why_not(replace(SURE, area=0.8)) == "too large"
    assert why_not(replace(SURE, sides=3)) == "cut by the border"
    assert why_not(replace(SURE, piece=0.7)) == "several pieces"
    assert why_not(replace(SURE, agreement=0.75)) == why_not(replace(SURE, edge=4.0)) == "unsure"


def test_measures_of_a_plain_map() -> None:
    saliency = np.zeros((100, 100), dtype=np.float32)
    saliency[40:, 30:70] = 0.95
    saliency[5:9, 5:9] = 0.95  # a crumb
    saliency[20:30, 80:90] = 0.3
    mask, found = measure(saliency)
    assert found.area == pytest.approx(0.2416) and found.inside == pytest.approx(0.95)
    assert found.agreement == pytest.approx(0.95 * 2416 / (2416 + 30), abs=1e-4)
    assert (found.sides, found.pieces) == (1, 1) and 0.15 < found.border < 0.25 and found.piece > 0.97
    assert found.edge == pytest.approx(100 * 100 / (40 + 60 + 60 + 16) / 100)
    assert not mask[:20].any() and mask[42:, 32:68].all()
    empty, nothing = measure(np.zeros((50, 50), dtype=np.float32))
    assert not empty.any() and why_not(nothing) == "too small"


def test_only_the_largest_piece_stays() -> None:
    inside = np.zeros((80, 80), dtype=np.bool_)
    inside[10:40, 10:60] = inside[50:70, 20:40] = True
    left = inside & pieces(inside).largest(inside.shape)
    assert left[10:40, 10:60].all() and not left[50:].any()


def test_the_command_keeps_what_is_whole_and_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, model, out = (
        make_photographs(tmp_path / "photos"),
        make_model(tmp_path / "m.onnx"),
        tmp_path / "a" / "m.jsonl",
    )
    arguments: list[object] = ["--photos", photos, "--model", model, "--out", out]
    run(monkeypatch, "cutout", arguments, 0)
    said = capsys.readouterr().out
    assert "24 of 31 photographs kept." in said and "Left out, unsure: 1\n" in said and f"Masks: {out}" in said
    lines = lines_of(out)
    reasons = [lines[f"n02123045_{number}_tabby.png"]["why"] for number in range(1, 7)]
    assert reasons == ["too small", "too large", "cut by the border", "several pieces", "unsure", "cannot be read"]
    assert lines["n09193705_alp.png"]["why"] == "no noun"
    kept = list(kept_masks(out))
    assert {(each.noun, each.broader) for each in kept} == {("beagle", ("dog", "animal")), ("golf ball", ("ball",))}
    for each in kept[:4]:
        truth = np.asarray(Image.open(photos / each.file))[..., 0] > 150
        assert (each.mask & truth).sum() / (each.mask | truth).sum() > 0.9
    whole = out.read_bytes()
    run(monkeypatch, "cutout", arguments, 0)
    assert out.read_bytes() == whole and "24 of 31 photographs kept." in capsys.readouterr().out


def test_a_run_goes_on_wherever_it_was_cut(tmp_path: Path) -> None:
    photos, model = make_photographs(tmp_path / "photos"), SaliencyModel(make_model(tmp_path / "m.onnx"))
    out = tmp_path / "m.jsonl"
    reasons = mask_photographs(photos, None, model, out)
    whole = out.read_bytes()
    for length in (0, 7, whole.index(b"\n") + 1, len(whole) // 2, len(whole) - 1):
        out.write_bytes(whole[:length])
        assert mask_photographs(photos, None, model, out) == reasons
        assert out.read_bytes() == whole


def test_a_killed_run_loses_no_line(tmp_path: Path) -> None:
    photos, file = make_photographs(tmp_path / "photos"), make_model(tmp_path / "m.onnx")
    out = tmp_path / "m.jsonl"
    script = f"""
import os, signal
from pathlib import Path
from locater.worlds.composed.pack.photo_masks import mask_photographs
from locater.worlds.composed.pack.saliency import SaliencyModel
listen = lambda done, total: os.kill(os.getpid(), signal.SIGKILL) if done == 5 else None
mask_photographs(Path({str(photos)!r}), None, SaliencyModel(Path({str(file)!r})), Path({str(out)!r}), listen)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert len(lines_of(out)) == 5
    looked_at: list[int] = []
    model = SaliencyModel(file)

    class Counting:
        def saliency(
            self, picture: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
        ) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            looked_at.append(1)
            return model.saliency(picture)

    mask_photographs(photos, None, Counting(), out)
    assert len(lines_of(out)) == 31 and len(looked_at) == 31 - 5 - 2  # two have no noun or no pixels
    fresh = tmp_path / "fresh.jsonl"
    mask_photographs(photos, None, model, fresh)
    assert out.read_bytes() == fresh.read_bytes()


def test_names_come_from_a_table_or_from_sub_folders(tmp_path: Path) -> None:
    photos, model = tmp_path / "photos", SaliencyModel(make_model(tmp_path / "m.onnx"))
    for name in ("one.png", "two.png", "three.png", "four.png"):
        draw_photograph(photos / "red things" / name, (30, 30, 90, 90))
        draw_photograph(photos / "teapot" / name, (30, 30, 90, 90))
    names = tmp_path / "names.tsv"
    names.write_text("one\tteapot\ntwo.png\tMy_Lamp\tlamp\nteapot/three.png\tbright red thing\n")
    mask_photographs(photos, names, model, tmp_path / "a.jsonl")
    found = {file: (line["noun"], line["broader"]) for file, line in lines_of(tmp_path / "a.jsonl").items()}
    assert len(found) == 5 and found["teapot/one.png"] == ("teapot", [])
    assert found["teapot/two.png"] == ("my lamp", ["lamp"]) and found["teapot/three.png"] == ("", [])
    mask_photographs(photos, None, model, tmp_path / "b.jsonl")
    assert [line["noun"] for line in lines_of(tmp_path / "b.jsonl").values()] == [""] * 4 + ["teapot"] * 4


def test_large_photographs_have_small_masks(tmp_path: Path) -> None:
    photos, model = tmp_path / "photos", SaliencyModel(make_model(tmp_path / "m.onnx"))
    draw_photograph(photos / "kettle.jpg", (400, 400, 1200, 1100), size=1600)
    mask_photographs(photos, None, model, tmp_path / "m.jsonl")
    (line,) = lines_of(tmp_path / "m.jsonl").values()
    assert line["size"] == [512, 512] == list(mask_size(1600, 1600)) and len(json.dumps(line)) < 2500
    assert rle.area(str(line["counts"]).encode()) == pytest.approx(np.pi * 128 * 112, rel=0.05)


def test_a_pack_takes_such_masks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, model = make_photographs(tmp_path / "photos"), SaliencyModel(make_model(tmp_path / "m.onnx"))
    masks, out = tmp_path / "m.jsonl", tmp_path / "pack"
    mask_photographs(photos, None, model, masks)
    sizes = ["--cutout-size", 64, "--photograph-size", 64]
    run(monkeypatch, "compose", ["--cutouts", masks, photos, "--out", out, "--hold-out", "ball", *sizes], 0)
    assert "24 cut-outs of 2 nouns, 12 of them held out;" in capsys.readouterr().out
    pack = Pack(out)
    assert {entry.noun: entry.broader for entry in pack.cutouts} == {
        "beagle": ("dog", "animal"),
        "golf ball": ("ball",),
    }
    assert all(entry.split == "heldout" for entry in pack.cutouts if entry.noun == "golf ball")
    assert len(pack.photographs) == 24 and all(len(each.things) == 1 for each in pack.photographs)
    assert pack.held_out == ("ball",) and pack.cutouts[0].source == "n02088364_0_beagle"
    draw_photograph(photos / "n02088364_0_beagle.png", (30, 30, 90, 90), size=100)
    run(monkeypatch, "compose", ["--cutouts", masks, photos, "--out", out, "--force", *sizes], 2)
    assert "has another size than its mask" in capsys.readouterr().err


def test_a_share_of_classes_is_held_out_whole_and_always_the_same(tmp_path: Path) -> None:
    some = HoldOut.of(["zebra", "20%"])
    words = [f"thing{number}" for number in range(500)]
    held = [word for word in words if some.covering(word, ())]
    assert 70 < len(held) < 130 and set(held) > {word for word in words if HoldOut.of(["10%"]).covering(word, ())}
    assert some.covering("zebra", ("animal",)) == "zebra"
    for share in (10, 30, 50):
        dogs = {HoldOut.of([f"{share}%"]).covering(breed, ("dog", "animal")) for breed in words}
        assert dogs == {HoldOut.of([f"{share}%"]).covering("dog", ("animal",))}  # all dogs or none
    assert not HoldOut.of(["50%"]).covering("person", ())
    for wrong in (["0%"], ["60%"], ["x%"], ["5%", "6%"]):
        with pytest.raises(LocaterError, match="from 1% to 50%"):
            HoldOut.of(wrong)
    photos, model = tmp_path / "photos", SaliencyModel(make_model(tmp_path / "m.onnx"))
    for word in words[:40]:
        draw_photograph(photos / word.replace("thing", "") / "a.png", (30, 30, 90, 90))
    names = tmp_path / "names.tsv"
    letters = "abcdefghijklmnopqrstuvwxyz"
    nouns = {f"{number}/a.png": f"gad{letters[number % 26]}{letters[number // 26]}get" for number in range(40)}
    names.write_text("".join(f"{file}\t{noun}\n" for file, noun in nouns.items()))
    mask_photographs(photos, names, model, tmp_path / "m.jsonl")
    sources = Sources(cutouts=[(tmp_path / "m.jsonl", photos)])
    compose(sources, tmp_path / "pack", ["20%"], Limits(cutout_side=64, photograph_side=64))
    pack = Pack(tmp_path / "pack")
    assert set(pack.held_out) == {noun for noun in nouns.values() if HoldOut.of(["20%"]).covering(noun, ())}
    assert {entry.noun for entry in pack.cutouts if entry.split == "heldout"} == set(pack.held_out) != set()


def test_bad_input_is_answered_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    photos, model, out = tmp_path / "photos", make_model(tmp_path / "m.onnx"), tmp_path / "out.jsonl"
    draw_photograph(photos / "cup.png", (30, 30, 90, 90))
    (tmp_path / "not.onnx").write_text("text")
    (tmp_path / "mine.txt").write_text("my notes\n")
    (tmp_path / "cut.txt").write_text("my notes")
    (tmp_path / "names.tsv").write_text("one\n")
    (tmp_path / "others.tsv").write_text("one\tcup\n")
    grey = make_model(tmp_path / "grey.onnx", channels=1)
    cases: list[tuple[list[object], str]] = [
        (["--photos", tmp_path / "no", "--model", model], "There is no folder"),
        (["--photos", photos, "--model", tmp_path / "no.onnx"], "There is no file"),
        (["--photos", photos, "--model", tmp_path / "not.onnx"], "is no ONNX file"),
        (["--photos", photos, "--model", grey], "does not take pictures"),
        (["--photos", photos, "--model", model, "--names", tmp_path / "no.tsv"], "There is no file"),
        (["--photos", photos, "--model", model, "--names", tmp_path / "names.tsv"], "write: file, tab, noun"),
        (["--photos", photos, "--model", model, "--names", tmp_path / "others.tsv"], "names no picture"),
    ]
    for arguments, sentence in cases:
        run(monkeypatch, "cutout", [*arguments, "--out", out], 2)
        said = capsys.readouterr().err
        assert sentence in said and said.count("\n") == 1 and said.startswith("Error: "), said
        assert not out.exists()
    for taken in ("mine.txt", "cut.txt"):  # nobody's file is written over
        before = (tmp_path / taken).read_bytes()
        run(monkeypatch, "cutout", ["--photos", photos, "--model", model, "--out", tmp_path / taken], 2)
        assert "is no file of photographs' masks" in capsys.readouterr().err
        assert (tmp_path / taken).read_bytes() == before
    run(monkeypatch, "compose", ["--cutouts", tmp_path / "no.jsonl", photos, "--out", out], 2)
    assert "make one with `locater data cutout`" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    run(monkeypatch, "cutout", ["--photos", photos, "--model", model, "--out", out], 2)
    assert "pip install 'locater[cutout]'" in capsys.readouterr().err
