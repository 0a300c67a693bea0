"""Questions to single pictures, answered by rule through the real scoring: each fault shows in its own figure."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch

from locater.datasets.catalog import Source
from locater.datasets.coco_val import CocoVal
from locater.evaluation.metrics.stills import still_results
from locater.evaluation.metrics.summary import Scores
from locater.evaluation.run.answering import answer
from locater.evaluation.run.evaluate import EvaluateRequest, evaluate
from locater.evaluation.run.processes import Place
from locater.inference.segmenter import Segmenter
from locater.records import FrameResult, FrameSource, Mask, Sample, SampleInfo, VideoState
from tests.support.datasets.making_stills import Thing, make_stills
from tests.support.evaluating.command import run
from tests.support.evaluating.scripted import Scripted

Rule = Callable[[CocoVal, Sample], Mask]
PRESENT = ("noun", "phrase", "place", "crowd")
ABSENT = ("absent_kin", "absent_far")


def right(_: CocoVal, sample: Sample) -> Mask:
    return sample.masks[0]


def silent(_: CocoVal, sample: Sample) -> Mask:
    return np.zeros_like(sample.masks[0])


def deaf(_: CocoVal, sample: Sample) -> Mask:
    """The whole picture, whatever is asked."""
    return np.ones_like(sample.masks[0])


def another(dataset: CocoVal, sample: Sample) -> Mask:
    """The first other one of the class; where there is none, what is meant."""
    is_choice = sample.info.kind in ("place", "crowd")
    return dataset.others(sample.info)[0] if is_choice else sample.masks[0]


def both(dataset: CocoVal, sample: Sample) -> Mask:
    """What is meant, and every other one of the class."""
    mask: Mask = np.logical_or.reduce([sample.masks[0], *dataset.others(sample.info)])
    return mask


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> CocoVal:
    root: Path = tmp_path_factory.mktemp("stills")
    people = [Thing("person", (x, 4, 8, 30)) for x in (2, 26, 52)]
    two_dogs = [Thing("dog", (4, 4, 20, 30)), Thing("dog", (40, 4, 20, 30))]
    bus = [Thing("bus", (4, 4, 40, 30))]
    make_stills(root, [people, two_dogs, bus], {"3": ["A red bus on a street."]})
    return CocoVal(root, "val")


def scored(dataset: CocoVal, rule: Rule, infos: list[SampleInfo] | None = None) -> dict[str, Scores]:
    scores = []
    for info in dataset.samples() if infos is None else infos:
        sample = dataset.load(info)
        mask = rule(dataset, sample)
        scripted = Scripted(lambda *_, mask=mask: mask, at_once=1)
        scores += answer(cast(Segmenter, scripted), [sample])
    return still_results(dataset, scores)


def test_who_is_right_is_right_in_every_kind(dataset: CocoVal) -> None:
    found = scored(dataset, right)
    assert {kind: row["questions"] for kind, row in found.items()} == {
        "noun": 1,
        "phrase": 1,
        "place": 2,
        "crowd": 2,
        "absent_kin": 1,
        "absent_far": 1,
    }
    for kind in PRESENT:
        assert (found[kind]["miou"], found[kind]["p@0.5"], found[kind]["empty_share"]) == (1, 1, 0)
    for kind in ABSENT:
        assert (found[kind]["miou"], found[kind]["p@0.5"], found[kind]["empty_share"]) == (None, None, 1)
    assert [row["chosen_right"] for row in found.values()] == [None, None, 1, 1, None, None]


def test_who_says_nothing_is_right_about_the_absent_alone(dataset: CocoVal) -> None:
    found = scored(dataset, silent)
    assert all(row["empty_share"] == 1 for row in found.values())
    assert all(found[kind]["miou"] == found[kind]["p@0.5"] == 0 for kind in PRESENT)
    assert found["place"]["chosen_right"] == found["crowd"]["chosen_right"] == 0


def test_who_is_deaf_leaves_nothing_alone(dataset: CocoVal) -> None:
    found = scored(dataset, deaf)
    assert all(row["empty_share"] == 0 for row in found.values())
    assert found["place"]["chosen_right"] == found["crowd"]["chosen_right"] == 0  # as much of one as of another


@pytest.mark.parametrize("rule", [another, both])
def test_another_of_the_class_is_not_the_one_meant(dataset: CocoVal, rule: Rule) -> None:
    choices = [info for info in dataset.samples() if info.kind in ("place", "crowd")]
    found = scored(dataset, rule, choices)
    assert list(found) == ["place", "crowd"]
    for row in found.values():
        assert row["chosen_right"] == 0 and row["empty_share"] == 0
        assert row["miou"] == 0 if rule is another else 0.3 < (row["miou"] or 0) <= 0.5


@pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning")
def test_the_command_reports_each_kind_and_scores_what_is_there_alone(
    checkpoint: Path,
    dataset: CocoVal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = ["evaluate", checkpoint, "coco-val", dataset.root, "--out", tmp_path / "run", "--device", "cpu"]
    code, out, err = run(monkeypatch, capfd, *words, "--failures", 0)
    assert code == 0, err
    assert "By kind of question" in out and "nothing: near kin of what is there" in out
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    kinds = {kind: row["questions"] for kind, row in found["stills"].items()}
    assert kinds == {"noun": 1, "phrase": 1, "place": 2, "crowd": 2, "absent_kin": 1, "absent_far": 1}
    assert found["scores"]["samples"] == found["scores"]["frames"] == 6  # of the eight, those that mean something
    rows = list(csv.DictReader((tmp_path / "run" / "per_sample.csv").open()))
    overlap = {row["key"]: float(row["intersection"]) / float(row["union"] or 1) for row in rows}
    present = [overlap[row["key"]] for row in rows if row["kind"] in PRESENT]
    assert len(present) == 6 and found["scores"]["miou"] == pytest.approx(sum(present) / 6, abs=1e-5)
    for kind in PRESENT:
        own = [overlap[row["key"]] for row in rows if row["kind"] == kind]
        assert found["stills"][kind]["miou"] == pytest.approx(sum(own) / len(own), abs=1e-5)


def test_an_empty_answer_is_worth_nothing_overall(
    checkpoint: Path, dataset: CocoVal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the runner with a network that marks nothing: the absent are all right, and the score is none."""

    def nothing(_: Segmenter, source: FrameSource, expressions: list[str], **__: object) -> Iterator[FrameResult]:
        for frame in source.frames():
            masks = np.zeros((len(expressions), *frame.pixels.shape[:2]), dtype=np.bool_)
            state = VideoState(torch.zeros(1, 0, 1), torch.zeros(1, 0, 1), 1, True, tuple(expressions))
            yield FrameResult(frame, masks, masks.astype(np.float32), (0.0,) * len(masks), ((),) * len(masks), state)

    monkeypatch.setattr(Segmenter, "segment", nothing)
    asked = EvaluateRequest(str(checkpoint), Source("coco-val", dataset.root), tmp_path / "run", failures=0)
    found = evaluate(asked, Segmenter.from_pretrained(checkpoint, "cpu"), Place()).results
    assert found is not None
    assert found["scores"]["miou"] == found["scores"]["oiou"] == 0 and found["scores"]["samples"] == 6
    assert found["stills"]["absent_kin"]["empty_share"] == found["stills"]["absent_far"]["empty_share"] == 1
