"""`locater evaluate CHECKPOINT positions PACK`: who is right, swapped, silent or deaf, through the real runner."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from locater.datasets.catalog import Source
from locater.evaluation.run.evaluate import EvaluateRequest, evaluate
from locater.evaluation.run.processes import Place
from locater.model.checkpoint import from_pretrained
from locater.records import Frame, Mask, SampleInfo
from locater.worlds.composed import compose
from locater.worlds.composed.position_world import PositionWorld
from tests.support.composed_sources import SMALL, make_sources, small_pack
from tests.support.evaluating.command import run
from tests.support.evaluating.scripted import ScriptedSegmenter

COUNT = 6
Rule = Callable[[PositionWorld, SampleInfo, int], Mask]


def right(world: PositionWorld, info: SampleInfo, index: int) -> Mask:
    return world.load(info).masks[index]


def swapped(world: PositionWorld, info: SampleInfo, index: int) -> Mask:
    return world.other(info)[index]


def silent(world: PositionWorld, info: SampleInfo, index: int) -> Mask:
    return np.zeros_like(world.other(info)[index])


def deaf(world: PositionWorld, info: SampleInfo, index: int) -> Mask:
    """Both, whichever is asked for."""
    mask: Mask = right(world, info, index) | swapped(world, info, index)
    return mask


def half(world: PositionWorld, info: SampleInfo, index: int) -> Mask:
    """All that is on the side asked for, without knowing what the noun means."""
    mask = silent(world, info, index)
    middle = mask.shape[1] // 2
    mask[:, slice(None, middle) if info.kind == "left" else slice(middle, None)] = True
    return mask


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("positions")
    compose(make_sources(folder), folder / "pack", ["zebra", "boat", "dog"], SMALL)
    return folder / "pack"


def scored(checkpoint: Path, pack: Path, out: Path, rule: Rule) -> dict[str, Any]:
    asked = EvaluateRequest(str(checkpoint), Source("positions", pack), out, count=COUNT, failures=0)
    world = PositionWorld(pack, count=COUNT, size=from_pretrained(checkpoint).config.image_size)
    infos = {(info.video, info.expression): info for info in world.samples()}

    def answer(video: str, frame: Frame, expression: str) -> Mask:
        return rule(world, infos[video, expression], frame.index)

    # Both questions come in one pass.
    found = evaluate(asked, ScriptedSegmenter(checkpoint, answer, at_once=2), Place()).results
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rule", "chosen", "marked", "both", "empty"),
    [(right, 1, 1, 1, 0), (swapped, 0, 0, 0, 0), (silent, 0, 0, 0, 1), (deaf, 0.5, 0.5, 0, 0), (half, 1, 0, 1, 0)],
)
def test_the_score_of(
    checkpoint: Path, pack: Path, tmp_path: Path, rule: Rule, chosen: float, marked: float, both: float, empty: float
) -> None:
    found = scored(checkpoint, pack, tmp_path, rule)["positions"]
    row = found["all"]
    assert row["questions"] == 2 * COUNT and found["left"]["questions"] == found["right"]["questions"] == COUNT
    assert (row["chosen_right"], row["marked_right"], row["both_right"], row["empty_share"]) == (
        chosen,
        marked,
        both,
        empty,
    )
    assert found["left"]["chosen_right"] + found["right"]["chosen_right"] == 2 * chosen
    assert found["left"]["both_right"] is None  # one question a scene
    if chosen == 0:
        assert row["miou"] == 0


def test_nouns_add_up(checkpoint: Path, pack: Path, tmp_path: Path) -> None:
    found = scored(checkpoint, pack, tmp_path, right)
    assert sum(row["questions"] for row in found["nouns"].values()) == 2 * COUNT
    assert found["positions"]["all"]["miou"] == found["scores"]["miou"] == 1


@pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning")
def test_the_command(
    checkpoint: Path, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", checkpoint, "positions", pack, "--out", tmp_path / "run", "--device", "cpu", "--failures", 1]
    code, out, _ = run(monkeypatch, capfd, *words, "--count", 2)
    assert code == 0 and "## Whether the meant one of two is chosen" in out and "| on the left | 2 |" in out
    answers = (tmp_path / "run" / "answers.00000.jsonl").read_text()
    code, out, _ = run(monkeypatch, capfd, *words, "--count", 3)  # goes on: the first two scenes are the same
    assert code == 0 and (tmp_path / "run" / "answers.00000.jsonl").read_text().startswith(answers)
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    assert found["dataset"] == "positions-heldout" and found["positions"]["all"]["questions"] == 6


def test_what_is_refused(
    checkpoint: Path, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refused(*words: object) -> str:
        code, _, err = run(monkeypatch, capfd, "evaluate", checkpoint, "positions", *words, "--out", tmp_path / "no")
        assert code == 2 and err.count("\n") == 1
        return err

    assert "The world positions needs its pack's folder; make one with `locater data compose`." in refused()
    assert "is no pack of cut-outs" in refused(tmp_path)
    assert " has 1; hold more out with " in refused(small_pack().folder)
    assert "positions has no split 'train'; it has test, heldout, validation." in refused(pack, "--split", "train")
    assert "--count is 0; it must be at least 1." in refused(pack, "--count", 0)
    assert not (tmp_path / "no").exists()
