"""`locater evaluate` as a person runs it: what it writes, a kill, two processes, and what it refuses."""

import csv
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from locater.evaluation.run.answering import answer
from locater.evaluation.run.passes import plan_passes, shard
from locater.inference.segmenter import Segmenter
from locater.records import Sample, SampleInfo
from locater.video.array_source import ArraySequence
from tests.support.evaluating.command import run

QUESTIONS = 9  # one of each kind
FILES = ("results.html", "results.json", "results.md", "per_sample.csv")


def arguments(checkpoint: Path, out: Path) -> list[str]:
    return ["evaluate", str(checkpoint), "shapes", "--out", str(out), "--count", "1", "--device", "cpu"]


@pytest.fixture(scope="module")
def whole(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of an uninterrupted run."""
    out = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["locater", *arguments(checkpoint, out)])
        from locater.cli import app as cli

        with pytest.raises(SystemExit) as stop:
            cli.main()
    assert not stop.value.code
    return out


def test_results_are_whole_and_consistent(whole: Path) -> None:
    found = json.loads((whole / "results.json").read_text())
    scores = found["scores"]
    assert found["dataset"] == "shapes-test" and scores["samples"] == QUESTIONS and scores["frames"] == 32 * QUESTIONS
    assert len(found["by"]["kind"]) == 9 and sum(each["samples"] for each in found["by"]["kind"].values()) == QUESTIONS
    assert sum(each["samples"] for each in found["by"]["object_count"].values()) == QUESTIONS
    rows = list(csv.DictReader((whole / "per_sample.csv").open()))
    assert len(rows) == QUESTIONS
    assert np.mean([float(row["j"]) for row in rows]) == pytest.approx(scores["j"], abs=1e-12)
    assert sum(int(row["intersection"]) for row in rows) / sum(int(row["union"]) for row in rows) == scores["oiou"]
    assert all(0 <= float(row["stability"]) <= 1 and 0 < float(row["truth_stability"]) <= 1 for row in rows)
    assert "By kind of sentence" in (whole / "results.md").read_text()
    assert len(list((whole / "failures").glob("*.png"))) == QUESTIONS
    assert sorted(path.name for path in whole.iterdir()) == sorted(
        [*FILES, "answers.00000.jsonl", "failures", "run.json"]
    )


def test_the_page_shows_every_table_and_the_worst_and_best_answers(whole: Path) -> None:
    page, markdown = ((whole / name).read_text("utf-8") for name in ("results.html", "results.md"))
    titles = re.findall(r"^## (.+)$", markdown, re.MULTILINE)
    assert titles and all(f"<h2>{title}</h2>" in page for title in titles)
    cells = {cell for row in re.findall(r"^\| (.+) \|$", markdown, re.MULTILINE) for cell in row.split(" | ")}
    assert len(cells) > 50 and {cell for cell in cells if html.escape(cell) not in page} == set()
    worst, best = (page[page.index(f"<h2>The {which} answers") :] for which in ("worst", "best"))
    assert worst.count("data:image/jpeg;base64,") == 9 and best.count("data:image/jpeg;base64,") == 3
    rows = sorted(csv.DictReader((whole / "per_sample.csv").open()), key=lambda row: (float(row["j&f"]), row["key"]))
    shown = re.findall(r"<b>\u201c(.+?)\u201d</b>", worst)
    assert [html.unescape(each) for each in shown[:6]] == [row["expression"] for row in rows[:6]]


def same_results(one: Path, other: Path) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in FILES)


def environment() -> dict[str, str]:
    # One thread, as in this process: the number of threads may change the last bit of a sum.
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_results(checkpoint: Path, whole: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "locater", *arguments(checkpoint, tmp_path / "run")]
    journal = tmp_path / "run" / "answers.00000.jsonl"
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    lines = journal.read_bytes().splitlines(keepends=True)
    assert 2 <= len(lines) < QUESTIONS and not (tmp_path / "run" / "results.json").exists()
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])  # a kill within a line
    subprocess.run(command, env=environment(), stdout=subprocess.DEVNULL, check=True)
    assert journal.read_bytes().count(b"\n") == QUESTIONS
    assert same_results(tmp_path / "run", whole)


@pytest.mark.slow
def test_two_processes_equal_one(checkpoint: Path, whole: Path, tmp_path: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = [*launcher, "-m", "locater", *arguments(checkpoint, tmp_path / "run")]
    subprocess.run(command, env=environment(), check=True, capture_output=True, timeout=120)
    journals = sorted((tmp_path / "run").glob("answers.*.jsonl"))
    counts = [path.read_bytes().count(b"\n") for path in journals]
    assert counts == [5, 4]
    assert same_results(tmp_path / "run", whole)


def test_a_finished_run_is_reported_again_and_another_is_refused(
    checkpoint: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = {name: (whole / name).read_bytes() for name in FILES}
    code, out, _ = run(monkeypatch, capfd, *arguments(checkpoint, whole), "--failures", "0")
    assert code == 0 and "mIoU" in out and all((whole / name).read_bytes() == before[name] for name in FILES[1:])
    code, out, err = run(monkeypatch, capfd, *arguments(checkpoint, whole), "--split", "heldout")
    assert code == 2 and out == "" and err.count("\n") == 1 and "answers of another run (another dataset)" in err


def test_wrong_words_give_one_sentence(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    common = ["--out", tmp_path / "out", "--device", "cpu"]
    for words, expected in (
        (["nothing-like-it"], "There is no dataset 'nothing-like-it'; choose one of shapes, "),
        (["shapes", tmp_path], "is drawn, not read"),
        (["shapes", "--split", "train"], "shapes has no split 'train'"),
        (["shapes", "--count", "0"], "--count is 0"),
        (["shapes", "--limit", "0"], "--limit is 0"),
        (["shapes", "--submission", tmp_path / "a.zip"], "Nobody takes submissions for shapes;"),
        (["mevis"], "needs the folder"),
        (["mevis", tmp_path / "absent"], "There is no folder"),
        (["mevis", tmp_path], "meta_expressions.json is missing"),
        (["mevis", tmp_path, "--count", "3"], "--count is for worlds"),
    ):
        code, out, err = run(monkeypatch, capfd, "evaluate", checkpoint, *words, *common)
        assert code == 2 and out == "" and err.count("\n") == 1 and expected in err, (words, err)
    monkeypatch.setenv("RANK", "one")
    code, _, err = run(monkeypatch, capfd, "evaluate", checkpoint, "shapes", *common)
    assert code == 2 and "whole numbers" in err
    assert not (tmp_path / "out").exists()


def test_a_broken_journal_is_named(
    checkpoint: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(whole, tmp_path / "run")
    (tmp_path / "run" / "answers.00000.jsonl").write_text('{"key": 1}\n')
    code, _, err = run(monkeypatch, capfd, *arguments(checkpoint, tmp_path / "run"))
    assert code == 2 and err.count("\n") == 1 and "answers.00000.jsonl holds a line that is no answer" in err


def infos(*videos: str, annotation: str = "") -> list[SampleInfo]:
    return [SampleInfo(f"{video}/{n}", video, "it", annotation=annotation) for n, video in enumerate(videos)]


def test_sentences_of_a_video_share_a_pass_and_a_process() -> None:
    passes = plan_passes(infos("a", "a", "b", *["c"] * 10, "a"))
    assert [(each.video, len(each.infos)) for each in passes] == [("a", 3), ("b", 1), ("c", 8), ("c", 2)]
    shards = [shard(passes, rank, 3) for rank in range(3)]
    assert sum(len(each) for each in shards) == len(passes)
    assert [{each.video for each in some} for some in shards] == [{"a"}, {"b"}, {"c"}]
    many = plan_passes([*infos(*["v"] * 12, annotation="one"), *infos(*["v"] * 12, annotation="two")])
    assert [len(each.infos) for each in many] == [12, 12]  # masks that compete are made together


def test_masks_are_compared_at_the_truths_own_size(checkpoint: Path) -> None:
    torch.manual_seed(0)
    segmenter = Segmenter.from_pretrained(checkpoint, "cpu")
    video = np.random.default_rng(0).integers(0, 256, (3, 40, 60, 3), dtype=np.uint8)
    truth = {1: np.ones((80, 120), np.bool_)}
    sample = Sample(SampleInfo("a", "v", "the red circle"), ArraySequence(video, 8.0), truth)
    (scored,) = answer(segmenter, [sample], keep_every_frame=True)
    assert [frame.index for frame in scored.frames] == [1] and scored.frames[0].counts.truth_area == 80 * 120
    frames = ArraySequence(video, 8.0)
    soft = [result.soft_masks for result in segmenter.segment(frames, ["the red circle"], soft=True)][1]
    assert soft is not None
    large = torch.nn.functional.interpolate(torch.from_numpy(soft)[None], size=(80, 120), mode="bilinear")
    assert scored.frames[0].counts.predicted_area == int((large > 0.5).sum())
    assert sorted(scored.predictions) == [0, 1, 2] and scored.predictions[0].mask().shape == (40, 60)
