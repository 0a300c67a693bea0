"""Flicker: nothing for whatever the truth does too, much for masks that come and go."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from locater.datasets.davis import DavisSentences
from locater.evaluation.metrics.flicker import Flicker, flicker
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.evaluation.metrics.sample_score import FrameScore, SampleScore
from locater.evaluation.metrics.summary import summarise
from locater.records import Mask, SampleInfo
from tests.support.datasets.making_datasets import real_data
from tests.support.datasets.making_davis import make_davis
from tests.support.evaluating.command import run, tiny_checkpoint

STEADY = Flicker(0.0, 0.0)
Wrong = Callable[[Mask], Mask]


def boxes(count: int = 8, growth: int = 2, way: int = 3) -> list[Mask]:
    """A box that moves and grows."""
    masks = []
    for index in range(count):
        mask = np.zeros((60, 80), np.bool_)
        mask[10 : 20 + growth * index, 5 + way * index : 15 + (way + growth) * index] = True
        masks.append(mask)
    return masks


def scored(predicted: list[Mask], true: list[Mask], leap: int = 1) -> list[FrameScore]:
    pairs = zip(predicted, true, strict=True)
    return [
        FrameScore(leap * index, compare(PackedMask.of(one), PackedMask.of(two)), 1.0)
        for index, (one, two) in enumerate(pairs)
    ]


def emptied(mask: Mask) -> Mask:
    return np.zeros_like(mask)


def halved(mask: Mask) -> Mask:
    """Its upper half."""
    rows = np.flatnonzero(mask.any(axis=1))
    kept = mask.copy()
    kept[rows[len(rows) // 2] :] = False
    return kept


def every_second(masks: list[Mask], wrong: Wrong) -> list[Mask]:
    return [wrong(mask) if index % 2 else mask for index, mask in enumerate(masks)]


@pytest.mark.parametrize(("growth", "way"), [(0, 0), (0, 4), (2, 3)])
def test_a_perfect_track_is_steady_however_the_object_moves_and_grows(growth: int, way: int) -> None:
    true = boxes(growth=growth, way=way)
    assert flicker(scored(true, true)) == STEADY


def test_what_vanishes_with_the_truth_is_steady() -> None:
    true = [*boxes(3), *[np.zeros((60, 80), np.bool_)] * 2, *boxes(3)]
    assert flicker(scored(true, true)) == STEADY


def test_a_steady_mistake_is_no_flicker() -> None:
    true = boxes(growth=0)
    assert flicker(scored([halved(mask) for mask in true], true)) == STEADY


def test_coming_and_going_is_much() -> None:
    true = boxes()
    assert flicker(scored(every_second(true, emptied), true)) == Flicker(1.0, 1.0)
    once = [emptied(mask) if index == 4 else mask for index, mask in enumerate(true)]
    found = flicker(scored(once, true))
    assert found is not None and found.value == pytest.approx(2 / 7)  # of seven steps two: away, and back


def test_halving_lies_between() -> None:
    true = boxes(growth=0)
    found = flicker(scored(every_second(true, halved), true))
    assert found == Flicker(0.5, 1.0) and found.value == 0.75  # the IoU halves and doubles, so does the area


def test_growing_out_of_step_counts_by_how_much() -> None:
    true = boxes(2, growth=0, way=0)  # 10 x 10 in both frames
    grown = true[1].copy()
    grown[20:22, 5:15] = True  # 12 x 10
    found = flicker(scored([true[0], grown], true))
    assert (
        found is not None and found.overlap == pytest.approx(1 - 10 / 12) and found.area == pytest.approx(np.log2(1.2))
    )


def test_silence_is_not_steady() -> None:
    true = boxes()
    assert flicker(scored([emptied(mask) for mask in true], true)) is None
    late = [emptied(mask) if index < 4 else mask for index, mask in enumerate(true)]
    found = flicker(scored(late, true))
    assert found is not None and found.value == 1 / 4  # of the four steps with a mask, one


def test_only_frames_in_a_row_are_compared() -> None:
    true = boxes()
    assert flicker(scored(every_second(true, emptied), true, leap=5)) is None
    assert flicker(scored(true[:1], true[:1])) is None and flicker([]) is None


def test_the_mean_is_over_questions_that_have_one() -> None:
    true = boxes()
    wrongs: list[Wrong] = [lambda mask: mask, emptied]
    samples = [
        SampleScore(SampleInfo(f"q{number}", "v", "it"), tuple(scored(every_second(true, wrong), true)), len(true))
        for number, wrong in enumerate(wrongs)
    ]
    silent = SampleScore(SampleInfo("q2", "v", "it"), tuple(scored([emptied(m) for m in true], true)), len(true))
    assert summarise([*samples, silent])["flicker"] == 0.5
    assert summarise([silent])["flicker"] is None


@pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning")
def test_davis_has_it_for_each_sequence_and_in_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    make_davis(tmp_path / "davis")
    checkpoint = tiny_checkpoint(tmp_path / "checkpoint")
    words = ["evaluate", checkpoint, "davis", tmp_path / "davis", "--out", tmp_path / "run", "--device", "cpu"]
    code, out, _ = run(monkeypatch, capfd, *words, "--limit", 14, "--failures", 0)
    assert code == 0 and "## By sequence" in out and "flicker (lower is better)" in out
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    each = [row["flicker"] for row in found["sequences"].values()]
    assert list(found["sequences"]) == ["bear", "bmx-bumps"] and all(0 <= value <= 1 for value in each)
    assert found["scores"]["flicker"] == pytest.approx(sum(each) / len(each))
    assert (tmp_path / "run" / "per_sample.csv").read_text().splitlines()[0].endswith(",flicker")


def test_on_real_motion() -> None:
    dataset = DavisSentences(real_data("davis2016_train_240p"), "train")
    infos = {info.video: info for info in dataset.samples()}
    for name in ("car-turn", "horsejump-low", "bmx-bumps"):
        masks = list(dataset.load(infos[name]).masks.values())[:12]
        assert flicker(scored(masks, masks)) == STEADY
        late = flicker(scored([masks[0], *masks[:-1]], masks))
        jumping = flicker(scored(every_second(masks, halved), masks))
        assert late is not None and jumping is not None and 4 * late.value < jumping.value > 0.5
