"""`locater ensemble`: from members' answers to an entry, as a person runs it."""

import json
from pathlib import Path

import pytest
from PIL import Image

from tests.support.command_line.running import Run, refused
from tests.support.evaluating.command import tiny_checkpoint
from tests.support.tiny_clipseg import tiny_clipseg

WORLD = ("shapes", "--count", "1", "--limit", "2")


@pytest.fixture(scope="module")
def shapes_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


def _module(run: Run, checkpoint: Path, out: Path) -> Path:
    few = ("--steps", "2", "--batch", "2", "--held-out", "1", "--set", "width=16", "--set", "frames=2")
    trained = run("ensemble", "train", checkpoint, "--data", "shapes", "--kinds", "position", *few,
                  "--weak", checkpoint, "--out", out)  # fmt: skip
    assert trained.code == 0 and "held-out sets" in trained.out, trained.err
    return out


def test_an_entry_from_members_to_results(run: Run, shapes_checkpoint: Path, tmp_path: Path) -> None:
    plain, both = tmp_path / "plain", tmp_path / "both"
    for out, options in ((plain, ()), (both, ("--flip",))):
        ran = run("evaluate", shapes_checkpoint, *WORLD, "--failures", "0", "--out", out, *options)
        assert ran.code == 0, ran.err
    module = _module(run, shapes_checkpoint, tmp_path / "grounding")

    members = ("--member", f"main={plain}", "--member", f"flipped={both}")
    joined = ("ensemble", "run", *WORLD, "--size", "64", *members)
    out = tmp_path / "joined"
    ran = run(*joined, "--grounding", module, "--how", "fuse", "--out", out)
    assert ran.code == 0 and "J&F" in ran.out, ran.err
    scores = json.loads((out / "scores.json").read_text())
    assert len(scores) == 2
    for told in scores.values():
        assert set(told) == {"main", "flipped"}
        assert sum(each["weight"] for each in told.values()) == pytest.approx(1)
    results = json.loads((out / "results.json").read_text())
    assert results["members"] == "main + flipped" and results["scores"]["samples"] == 2
    pictures = sorted((out / "masks").rglob("*.png"))
    assert len(pictures) == 2 * 32 and Image.open(pictures[0]).size == (64, 64)

    # A folder of masks is a member like any other: alone it is what it was.
    again = tmp_path / "again"
    ran = run("ensemble", "run", *WORLD, "--size", "64", "--member", f"theirs={out / 'masks'}", "--out", again)
    assert ran.code == 0, ran.err
    assert json.loads((again / "results.json").read_text())["scores"] == results["scores"]

    told = refused(run, tmp_path, *joined, "--how", "best", "--out", tmp_path / "new")
    assert "There is no way 'best'" in told
    told = refused(run, tmp_path, *joined, "--member", f"main={both}", "--out", tmp_path / "new")
    assert "Two members have one name" in told
    told = refused(run, tmp_path, "ensemble", "run", *WORLD, "--member", tmp_path / "nobody", "--out", tmp_path / "new")
    assert "There is no" in told
    more = ("ensemble", "run", "shapes", "--count", "1", "--limit", "3", "--size", "64", *members)
    assert "has no answer to" in refused(run, tmp_path, *more, "--out", tmp_path / "new")


def test_the_things_that_a_member_marks_are_candidates(run: Run, shapes_checkpoint: Path, tmp_path: Path) -> None:
    first = run("evaluate", shapes_checkpoint, *WORLD, "--failures", "0", "--out", tmp_path / "plain")
    assert first.code == 0, first.err
    joined = ("ensemble", "run", *WORLD, "--size", "64")
    ran = run(*joined, "--member", f"main={tmp_path / 'plain'}", "--out", tmp_path / "masks")
    assert ran.code == 0, ran.err
    for picture in (tmp_path / "masks" / "masks").rglob("*.png"):
        marked = Image.new("L", (64, 64))
        marked.paste(255, (4, 4, 20, 20))
        marked.paste(255, (40, 40, 60, 60))
        marked.save(picture)
    apart = (*joined, "--member", f"two={tmp_path / 'masks' / 'masks'}", "--parts")
    module = _module(run, shapes_checkpoint, tmp_path / "grounding")
    ran = run(*apart, "--grounding", module, "--out", tmp_path / "apart")
    assert ran.code == 0, ran.err
    for told in json.loads((tmp_path / "apart" / "scores.json").read_text()).values():
        assert set(told) == {"two", "two, part 1", "two, part 2"}
        assert sum(each["weight"] for each in told.values()) == 1
    assert "give --grounding" in refused(run, tmp_path, *apart, "--out", tmp_path / "new")


def test_an_image_model_proposes_a_member(run: Run, tmp_path: Path) -> None:
    one = ("shapes", "--count", "1", "--limit", "1", "--size", "64")
    masks, out = tmp_path / "proposed", tmp_path / "out"
    ran = run("ensemble", "propose", tiny_clipseg(tmp_path / "clipseg"), *one, "--device", "cpu", "--out", masks)
    assert ran.code == 0 and "Masks of 1 questions" in ran.out, ran.err
    assert len(list(masks.rglob("*.png"))) == 32
    ran = run("ensemble", "run", *one, "--member", f"clipseg={masks}", "--how", "fuse", "--out", out)
    assert ran.code == 0, ran.err
    for path in masks.rglob("*.png"):
        joined = out / "masks" / path.relative_to(masks)
        assert joined.read_bytes() == path.read_bytes(), "alone, it is what it was"
    told = refused(run, tmp_path, "ensemble", "propose", tmp_path / "nothing", *one, "--out", tmp_path / "new")
    assert "cannot be loaded" in told
