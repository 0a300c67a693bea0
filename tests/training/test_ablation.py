"""The ablation tables: every row is a network, and a table can be run from the command line."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from locater.config import preset
from locater.contrast.build import BuildRequest
from locater.contrast.build import build as build_set
from locater.datasets.catalog import find_source
from locater.errors import LocaterError
from locater.evaluation.report.tables import Report
from locater.evaluation.run.evaluate import EvaluateRequest, evaluate
from locater.evaluation.run.processes import Place
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.model.checkpoint import from_pretrained
from locater.presets.changes import parse_changes
from locater.training.ablation import run as ablation
from locater.training.ablation.report import RowScores, as_csv, as_markdown
from locater.training.ablation.run import AblateRequest, run_table, trained_changes
from locater.training.ablation.scoring import Amount, find_scored_sets, miou_by_kind, score
from locater.training.ablation.tables import TABLES, Row
from locater.training.command import train_preset, what_training_reads
from tests.support.datasets.making_datasets import make_a2d, make_coco, make_folder, make_refer_youtube_vos
from tests.support.making_contrasts import FakeLabeler, make_contrasting_a2d

ROWS = [(table, row) for table, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(("table", "row"), ROWS, ids=[f"{table}: {row.name}" for table, row in ROWS])
def test_every_row_is_a_network(table: str, row: Row) -> None:
    assert build(preset("tiny", parse_changes(row.changes)), seed=0) is not None, table


def test_a_table_shows_mean_deviation_and_the_papers_numbers() -> None:
    rows = [
        RowScores(Row("one", ("a=1",), (47.3, None)), {"shapes": {"motion": [0.5, 0.6], "size": [0.7, 0.7]}}),
        RowScores(Row("two", ()), {"shapes": {"motion": [0.6, 0.6], "size": [0.9, 0.9]}}),
    ]
    lines = as_markdown(rows).splitlines()
    assert lines[2] == "| one | 62.5 ± 3.5 | 47.3 |  | 55.0 ± 7.1 | 70.0 ± 0.0 |"
    assert lines[0].count("|") == lines[1].count("|") == lines[3].count("|")
    assert len(list(csv.reader(as_csv(rows).splitlines()))) == 1 + 2 * 2 * 2


def test_further_sets_stand_averaged_beside_the_papers_contrast_sets() -> None:
    by_set = {"a": {"all": [0.5]}, "b": {"all": [0.2]}, "c": {"all": [0.4]}}
    lines = as_markdown([RowScores(Row("one", (), (47.3, 27.0)), by_set)]).splitlines()
    assert lines[0] == "|  | mIoU | paper A2D-S | other sets | paper A2D-S+ | all | all (b) | all (c) |"
    assert lines[2] == "| one | 50.0 | 47.3 | 30.0 | 27.0 | 50.0 | 20.0 | 40.0 |"


def test_an_unknown_table_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="key_components, memories"):
        run_table(AblateRequest("keys", "tiny", ["shapes"], tmp_path))


SMALL = ["image_size=16", "training.steps=1", "training.batch_size=2", "training.clip_frames=1",
         "training.global_frames=1", "training.validation_videos=0"]  # fmt: skip


@pytest.mark.slow
def test_a_table_runs_from_the_command_line_and_is_not_run_twice(tmp_path: Path) -> None:
    make_a2d(tmp_path / "a2d")
    sets = [part for setting in SMALL for part in ("--set", setting)]
    data = ["--data", "shapes", "--data", f"a2d-sentences:{tmp_path / 'a2d'}"]
    options = [*data, "--preset", "tiny", "--seeds", "1", "--workers", "0", "--side-by-side", "2", "--count", "1"]
    out = tmp_path / "out"
    command = [sys.executable, "-m", "locater", "ablate", "query", *options, "--out", str(out), *sets]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "| visual-guided | " in done.stdout and "59.7" in done.stdout and "(a2d-sentences:" in done.stdout
    text, visual = out / "decoder.query=text,seed=0", out / "preset,seed=0"  # which asks visually already
    assert {path.name for path in out.iterdir()} >= {"query.md", "query.csv", "query.png", text.name, visual.name}
    assert sorted(path.name for path in (text / "scores").iterdir()) == ["1-shapes,test", "2-a2d-sentences,test"]
    kept = [text / "state-00000001" / "progress.json", text / "scores" / "2-a2d-sentences,test" / "answers.00000.jsonl"]
    before = [path.read_bytes() for path in kept]
    stamp = kept[0].stat().st_mtime_ns
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert again.stdout == done.stdout
    assert kept[0].stat().st_mtime_ns == stamp and [path.read_bytes() for path in kept] == before
    other = subprocess.run([*command, "--set", "width=32"], capture_output=True, text=True, check=False, timeout=200)
    assert other.returncode == 2 and "other settings" in other.stderr


def asked(out: Path, data: list[str], table: str = "query", **others: Any) -> AblateRequest:
    return AblateRequest(table, "tiny", data, out, seeds=1, changes=SMALL, workers=0, **others)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Trains in this process, and hears which changes each run is trained with."""
    heard: list[tuple[str, ...]] = []

    def train(request: AblateRequest, changes: tuple[str, ...], seed: int) -> None:
        heard.append(changes)
        out = ablation._place(request.out, changes, seed)
        train_preset(request.preset, request.data[0], out, [*changes, *request.changes], seed=seed)

    monkeypatch.setattr(ablation, "_train", train)
    return heard


def test_intervals_share_one_training_and_are_scored_each(tmp_path: Path, trained: list[tuple[str, ...]]) -> None:
    make_a2d(tmp_path / "a2d")
    rows = run_table(asked(tmp_path / "out", [f"a2d-sentences:{tmp_path / 'a2d'}"], "sampling_interval"))
    assert trained == [()] and len(rows) == 8
    scores = tmp_path / "out" / "preset,seed=0" / "scores"
    answers = {path.name: path / "answers.00000.jsonl" for path in scores.iterdir()}
    intervals = [3, 5, 7, 12, 15, 20, 30]  # and the preset's own
    assert answers.keys() == {"1-a2d-sentences,test"} | {f"1-a2d-sentences,test,memory.interval={n}" for n in intervals}
    # The clips have 12 frames: every interval of 12 or more looks at the first frame alone, others at more of them.
    told = {name.rpartition("=")[2]: path.read_text() for name, path in answers.items()}
    assert told["12"] == told["30"] != told["3"] != told["5"]


def test_rows_share_a_run_only_if_their_networks_are_equal(tmp_path: Path) -> None:
    make_a2d(tmp_path / "a2d")

    def weights(*changes: str) -> bytes:
        folder = tmp_path / ",".join(changes or ["preset"])
        train_preset("tiny", f"a2d-sentences:{tmp_path / 'a2d'}", folder, [*SMALL, *changes])
        return (folder / "checkpoint" / "model.safetensors").read_bytes()

    plain = weights()
    for change in ("memory.interval=3", "keep_aspect=true", "training.validation_videos=2"):
        assert what_training_reads("tiny", [change]) == what_training_reads("tiny", []), change
        assert weights(change) == plain, change
    for change in ("decoder.query=text", "training.learning_rate=0.1", "training.global_frames=2"):
        assert what_training_reads("tiny", [*SMALL, change]) != what_training_reads("tiny", SMALL), change
        assert weights(change) != plain, change
    own = asked(tmp_path, [])
    for table, rows in TABLES.items():
        for row in rows:
            kept = trained_changes(own, row)
            assert set(kept) <= set(row.changes) and not any("interval" in each for each in kept), table


@pytest.mark.slow
def test_a_contrast_set_is_scored_as_evaluate_scores_it(tmp_path: Path, trained: list[tuple[str, ...]]) -> None:
    make_a2d(tmp_path / "a2d")
    make_contrasting_a2d(tmp_path / "more")
    build_set(find_source(f"a2d-sentences:{tmp_path / 'more'}").open(), FakeLabeler(), BuildRequest(tmp_path / "set"))
    rows = run_table(asked(tmp_path / "out", [f"a2d-sentences:{tmp_path / 'a2d'}", f"a2d-s+:{tmp_path / 'set'}"]))
    assert len(trained) == 2
    run = tmp_path / "out" / "preset,seed=0"
    own = EvaluateRequest(str(run / "checkpoint"), find_source(f"a2d-s+:{tmp_path / 'set'}"), tmp_path / "own")
    found = evaluate(own, Segmenter(from_pretrained(run / "checkpoint")), Place()).results
    assert found is not None
    by_kind = {kind: [scores["miou"]] for kind, scores in found["by"]["kind"].items()}
    assert rows[1].by_set[f"a2d-s+:{tmp_path / 'set'}"] == by_kind and by_kind.keys() == {"M", "S", "T"}
    assert rows[1].overall([f"a2d-s+:{tmp_path / 'set'}"]) == [pytest.approx(found["average"]["miou"])]


def test_a_dataset_is_scored_by_the_fields_protocol(tmp_path: Path, trained: list[tuple[str, ...]]) -> None:
    truth = make_a2d(tmp_path / "a2d")
    (scored,) = find_scored_sets([f"a2d-sentences:{tmp_path / 'a2d'}"], None, Amount())
    assert scored.split == "test"
    (row, _) = run_table(asked(tmp_path / "out", [f"a2d-sentences:{tmp_path / 'a2d'}"]))
    assert list(row.by_set[scored.name]) == ["all"]  # its sentences have no kinds
    found = json.loads((tmp_path / "out/preset,seed=0/scores/1-a2d-sentences,test/results.json").read_text())
    test = [key for key in truth if not key.startswith("train/")]
    assert found["scores"]["samples"] == len(test)  # every sentence, every annotated frame, at the masks' own size
    assert found["scores"]["frames"] == sum(len(truth[key]) for key in test)
    assert len(trained) == 2


def test_a_set_without_a_validation_split_is_scored_on_another(tmp_path: Path, trained: list[tuple[str, ...]]) -> None:
    make_folder(tmp_path / "own")
    name = f"folder:{tmp_path / 'own'}"
    with pytest.raises(LocaterError, match="scored on sentences that it is trained on; name a split without them"):
        run_table(asked(tmp_path / "out", [name]))
    assert not trained and not (tmp_path / "out").exists()
    rows = run_table(asked(tmp_path / "out", [name], split="test"))
    assert list(rows[0].by_set[name]) == ["absent", "appearance", "relation"]
    make_coco(tmp_path / "coco")  # its usual split is the one to train on
    shutil.copytree(tmp_path / "coco" / "val2017", tmp_path / "coco" / "train2017")
    content = json.loads((tmp_path / "coco/annotations/instances_val2017.json").read_text())
    (tmp_path / "coco/annotations/instances_train2017.json").write_text(json.dumps(content))
    content["images"][0] |= {"id": 8, "file_name": "8.jpg"}
    for each in content["annotations"]:
        each["image_id"] = 8
    (tmp_path / "coco/annotations/instances_val2017.json").write_text(json.dumps(content))
    (scored,) = find_scored_sets([f"coco:{tmp_path / 'coco'}"], None, Amount())
    assert scored.split == "val2017"


def test_questions_without_a_kind_are_not_left_out() -> None:
    some = Report({}, "", "own", {"samples": 2, "miou": 0.25}, {"kind": {"motion": {"samples": 1, "miou": 0.5}}})
    assert miou_by_kind(some) == {"all": 0.25}
    all_ = Report({}, "", "own", {"samples": 1, "miou": 0.5}, {"kind": {"motion": {"samples": 1, "miou": 0.5}}})
    assert miou_by_kind(all_) == {"motion": 0.5}


def test_every_set_is_checked_before_the_first_step(tmp_path: Path, trained: list[tuple[str, ...]]) -> None:
    make_a2d(tmp_path / "a2d")
    make_refer_youtube_vos(tmp_path / "refer")
    (tmp_path / "empty").mkdir()
    first = f"a2d-sentences:{tmp_path / 'a2d'}"
    for data, told in (
        (["golf"], "There is no dataset 'golf'"),
        (["a2d-s+:x"], "a2d-s[+] is for evaluation alone"),
        ([f"folder:{tmp_path / 'empty'}"], "is missing"),
        ([first, "golf:x"], "There is no dataset 'golf'"),
        ([first, f"mevis:{tmp_path / 'absent'}"], "There is no folder"),
        ([first, f"mevis:{tmp_path / 'empty'}"], "meta_expressions.json is missing"),
        ([first, "composed"], "needs its pack's folder"),
        ([first, f"refer-youtube-vos:{tmp_path / 'refer'}"], "has no masks in refer-youtube-vos-valid"),
    ):
        with pytest.raises(LocaterError, match=told):
            run_table(asked(tmp_path / "out", data))
    with pytest.raises(LocaterError, match="--count is 0"):
        run_table(asked(tmp_path / "out", ["shapes"], amount=Amount(count=0)))
    assert not trained and not (tmp_path / "out").exists()


def test_scoring_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    make_a2d(tmp_path / "a2d")
    name = f"a2d-sentences:{tmp_path / 'a2d'}"
    train_preset("tiny", name, tmp_path / "run", SMALL)
    config = preset("tiny", parse_changes(SMALL))
    (few,) = find_scored_sets([name], None, Amount(limit=1))
    score(tmp_path / "run", config, few, tmp_path / "scores")
    first = (tmp_path / "scores" / "answers.00000.jsonl").read_bytes()
    (whole,) = find_scored_sets([name], None, Amount())
    score(tmp_path / "run", config, whole, tmp_path / "scores")
    assert (tmp_path / "scores" / "answers.00000.jsonl").read_bytes().startswith(first) and first.count(b"\n") == 1


def test_tables_share_the_runs_of_equal_rows() -> None:
    shared = {row.changes for row in TABLES["key_components"]} & {row.changes for row in TABLES["memories"]}
    assert len(shared) == 2  # without memory, and the preset itself
