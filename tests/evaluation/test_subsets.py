"""A2D-S+ as the paper reports it: a built set through the command, the average, the groups by number of objects."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from locater.contrast.build import BuildRequest, build
from locater.datasets.catalog import open_dataset
from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.sample_score import FrameScore, SampleScore
from locater.evaluation.report.subsets import SubsetsEvaluator
from locater.evaluation.report.tables import Report
from locater.records import Sample, SampleInfo
from tests.support.evaluating.command import run, tiny_checkpoint
from tests.support.making_contrasts import FakeLabeler, make_contrasting_a2d


def scored(subset: str, number: int, objects: int | None, overlap: int) -> SampleScore:
    """A question with one frame, answered with an IoU of `overlap` per cent."""
    counts = FrameCounts(100, overlap, overlap, 0, 0, 0, 0)
    info = SampleInfo(f"{subset}/{number}", f"{subset}/{number}", "it", subset, objects)
    return SampleScore(info, (FrameScore(0, counts, 0.5),), 1)


@dataclass(frozen=True)
class Named:
    """A dataset of which only the name is asked."""

    name: str

    def samples(self) -> list[SampleInfo]:
        raise NotImplementedError

    def load(self, info: SampleInfo) -> Sample:
        raise NotImplementedError


def report(name: str, samples: list[SampleScore]) -> Report:
    return Report.of({}, "ours", name, samples, SubsetsEvaluator(Named(name)).sections(samples))


def test_subsets_weigh_the_same_and_objects_make_thirds() -> None:
    samples = [scored("M", 0, 2, 90)]
    samples += [scored("S", number, objects, 10 * objects) for number, objects in enumerate((9, 2, 4, 3, 2, 8))]
    samples += [scored("T", number, None, 30) for number in range(4)]
    found = report("a2d-s+-all", samples).figures()
    assert found["by"]["kind"]["S"]["miou"] == pytest.approx(28 / 60)
    assert found["average"]["miou"] == pytest.approx((0.9 + 28 / 60 + 0.3) / 3)
    assert "samples" not in found["average"]
    groups = [(group["objects_per_video"], group["samples"], group["miou"]) for group in found["thirds"]["S"]]
    assert groups == [(2, 2, 0.2), (3.5, 2, 0.35), (8.5, 2, pytest.approx(0.85))]
    assert "T" not in found["thirds"]  # nobody counted its objects
    text = report("a2d-s+-all", samples).markdown()
    assert "| S, LOCATER | 19.0 | 19.0 | 31.4 | 29.9 | - | - |" in text
    assert "| S | 3.50 | 2 | 35.00 | 4.11 | 29.8 |" in text
    # Another source is not the paper's; other kinds are no subsets; a part has no average.
    other = report("contrast-shapes-test-all", samples).markdown()
    assert "S, LOCATER" not in other and "| S | 3.50 | 2 | 35.00 | - | - |" in other
    assert "thirds" not in report("a2d-s+-N", [scored("N", 0, 2, 50)]).figures()
    assert "average" not in report("a2d-s+-S", samples[1:7]).figures()


@pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning")
def test_a_built_set_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    make_contrasting_a2d(tmp_path / "a2d")
    built = build(
        open_dataset("a2d-sentences", tmp_path / "a2d", "test"), FakeLabeler(), BuildRequest(tmp_path / "set")
    )
    checkpoint = tiny_checkpoint(tmp_path / "checkpoint")
    words = ["evaluate", checkpoint, "a2d-s+", tmp_path / "set", "--device", "cpu", "--failures", 2]
    code, out, _ = run(monkeypatch, capfd, *words, "--out", tmp_path / "run")
    assert code == 0 and "## M, S, T and their average" in out and "## By number of objects, in thirds" in out
    found = json.loads((tmp_path / "run" / "results.json").read_text())
    by_kind = found["by"]["kind"]
    assert found["dataset"] == "a2d-s+-all"
    assert {subset: each["samples"] for subset, each in by_kind.items()} == {
        "M": 4,
        "S": built.sequences["S"],
        "T": built.sequences["T"],
    }
    assert by_kind["T"]["frames"] == 2 * by_kind["S"]["frames"]  # as many of the other half
    assert found["average"]["miou"] == pytest.approx(sum(each["miou"] for each in by_kind.values()) / 3)
    assert sum(group["samples"] for group in found["thirds"]["S"]) == built.sequences["S"]
    code, out, _ = run(monkeypatch, capfd, *words, "--split", "T", "--out", tmp_path / "part")
    alone = json.loads((tmp_path / "part" / "results.json").read_text())
    assert code == 0 and alone["dataset"] == "a2d-s+-T" and alone["scores"] == by_kind["T"]
    assert alone["published"]["LOCATER"]["mIoU"] == 30.2
