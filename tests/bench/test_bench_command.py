"""Every benchmark through the real command at tiny sizes: it checks, prints a table, and leaves JSON and a plot."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from locater.bench.catalog import BENCHMARKS
from locater.bench.harness.clip import DeviceClip
from locater.bench.harness.peer_models import PEERS, Built
from locater.bench.harness.request import BenchRequest
from locater.bench.suites import cpu, fps, peers, training, write_memory
from locater.config import preset
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.model.locater import Locater
from locater.model.visual.drop_path import DropPath
from locater.model.word_embedding import PretrainedEmbedding
from locater.text.words import Vocabulary
from locater.video.writers.background import drawing_threads
from locater.worlds.shapes import vocabulary
from tests.support.bench_command import Ran, run_bench

Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    return lambda *arguments: run_bench(monkeypatch, capsys, tmp_path / "out", *arguments)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), seed=0), folder)
    return folder


def timed_rows(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows with a time, each checked to be one."""
    for row in report["rows"]:
        if "lowest_ms" in row:
            assert 0 < row["lowest_ms"] <= row["median_ms"] <= row["highest_ms"] < 60_000
            yield row


def checked(ran: Ran, name: str) -> dict[str, Any]:
    """The report of a benchmark that went well, all of its outputs looked at."""
    assert ran.code == 0, ran
    report = ran.report(name)
    for fact in ("machine", "gpu", "versions", "commit", "timed"):
        assert f"{fact}: {report[fact]}" in ran.out
    assert "torch" in report["versions"]
    header = next(line for line in ran.out.splitlines() if line.split()[:1] == report["columns"][0].split()[:1])
    assert [column for column in report["columns"] if column not in header] == []
    assert all(check["holds"] for check in report["checks"])
    with Image.open(ran.folder / f"{name}.png") as image:
        assert image.size == (1000, 560)
        assert np.unique(np.asarray(image).reshape(-1, 3), axis=0).shape[0] > 10
    assert sorted(path.name for path in ran.folder.iterdir()) == [f"{name}.json", f"{name}.png"]
    return report


def test_fps_counts_frames_and_checks_every_way(run: Run) -> None:
    report = checked(run("fps", "--precision", "bfloat16"), "fps")
    rows = list(timed_rows(report))
    assert [row["way"] for row in rows] == [fps.OWN_WAY]
    for row in rows:
        assert row["frames/s"] == pytest.approx(4 / (row["median_ms"] / 1e3))
    assert len(report["checks"]) == 1 + len(rows)
    assert report["request"]["precision"] == "bfloat16"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("preset_name", ["tiny", "default"])
def test_fps_on_a_gpu_checks_the_captured_ways_too(run: Run, preset_name: str) -> None:
    report = checked(run("fps", "--device", "cuda", "--preset", preset_name, "--no-compile"), "fps")
    assert len(list(timed_rows(report))) == 3


@pytest.mark.slow
def test_the_shipped_networks_preset_is_measured_without_a_word_table(run: Run) -> None:
    (row,) = timed_rows(checked(run("fps", "--preset", "default", "--repeats", 1), "fps"))
    assert (row["size"], row["way"]) == (352, fps.OWN_WAY)


def test_memory_is_compared_with_the_block_at_every_length(run: Run) -> None:
    rows = list(timed_rows(checked(run("memory"), "memory")))
    assert {row["frames"] for row in rows} == {4, 8}
    for length in (4, 8):
        by_name = {row["what"]: row for row in rows if row["frames"] == length}
        assert by_name.keys() == {"memory, eager", "block"}
        eager = by_name["memory, eager"]
        assert eager["block / memory"] == pytest.approx(by_name["block"]["median_ms"] / eager["median_ms"])


def test_memory_does_not_grow_with_the_video(run: Run) -> None:
    short, long = checked(run("length"), "length")["rows"]
    assert (short["frames"], long["frames"]) == (40, 80)
    assert short["state_MB"] == long["state_MB"] > 0
    assert abs(short["peak_MB"] - long["peak_MB"]) < 32


def test_expressions_are_in_times_of_one(run: Run) -> None:
    one, two = timed_rows(checked(run("expressions"), "expressions"))
    assert (one["sentences"], one["times one"]) == (1, 1)
    assert two["times one"] == pytest.approx(two["median_ms"] / one["median_ms"])


def test_end_to_end_says_where_the_time_goes(run: Run) -> None:
    report = checked(run("end_to_end"), "end_to_end")
    shares = {row["stage"]: row["share"] for row in report["rows"] if "share" in row}
    assert {"decode", "resize frames", "segment", "draw masks", "convert colours", "write mp4"} <= shares.keys()
    # Timers and the clock around them are read at different moments; on a busy machine they differ more.
    assert sum(shares.values()) == pytest.approx(1, abs=0.2)
    assert report["notes"][0].startswith("The slowest of what overlaps is ")
    whole = {row["stage"]: row["frames/s"] for row in report["rows"] if row.get("frames/s")}
    assert whole.keys() == {
        "the masks alone",
        "one after the other",
        "overlapping",
        "reading alone",
        "the encoder alone",
    }


def test_start_waits_for_the_first_mask_of_the_real_command(run: Run) -> None:
    report = checked(run("start", "--checkpoint", "shapes", "--repeats", "1"), "start")
    for row in report["rows"]:
        assert 0.3 < row["first mask, s"] < row["all, s"] < 60
        assert 100 < row["peak, MB"] < 2000


def test_every_peer_is_run_beside_ours(run: Run) -> None:
    report = checked(run("peers"), "peers")
    ours, *theirs = timed_rows(report)
    assert [row["model"] for row in theirs] == [peer.name for peer in PEERS]
    for row in theirs:
        assert row["ours / theirs"] == pytest.approx(ours["frames/s"] / row["frames/s"])
        assert row["reads"]
        assert ("ours there" in row) == str(row["size"]).isdigit(), "beside ours at the same size, where it has one"
    assert [check["name"] for check in report["checks"]][1].startswith("ours at 64 pixels")


def test_precision_compares_masks_with_those_of_float32(run: Run, checkpoint: Path) -> None:
    by_name = {
        row["precision"]: row for row in checked(run("precision", "--checkpoint", checkpoint), "precision")["rows"]
    }
    assert by_name["float32"]["mean"] == by_name["float32"]["lowest"] == 1
    assert 0.5 < by_name["bfloat16"]["mean"] <= 1
    assert by_name["float16"] == {"precision": "float16", "aim": "needs a GPU"}


def test_cpu_compares_with_plain_float32(run: Run, checkpoint: Path) -> None:
    rows = list(timed_rows(checked(run("cpu", "--checkpoint", checkpoint), "cpu")))
    assert rows[0]["way"] == cpu.PLAIN
    assert rows[0]["times as fast"] == 1
    for row in rows:
        assert row["times as fast"] == pytest.approx(rows[0]["median_ms"] / row["median_ms"])


def test_what_the_cpu_lacks_is_a_row_without_numbers(
    run: Run, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_compiler() -> cpu.Run:
        raise RuntimeError("no C++\ncompiler")

    own = cpu._ways
    monkeypatch.setattr(cpu, "_ways", lambda *given: [*own(*given)[:1], ("compiled", no_compiler, None)])
    report = checked(run("cpu", "--checkpoint", checkpoint), "cpu")
    assert report["rows"][1] == {"way": "compiled (missing)"}
    assert "compiled: missing here (no C++ compiler)" in report["notes"]


def test_a_way_that_gives_other_results_is_not_timed_and_fails_the_command(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = fps._ways

    def with_another(
        request: BenchRequest, model: Locater, clip: DeviceClip
    ) -> list[tuple[str, Callable[[], fps.Run]]]:
        ((name, make),) = own(request, model, clip)
        return [(name, make), ("wrong", lambda: lambda: make()().flip(-1))]

    monkeypatch.setattr(fps, "_ways", with_another)
    ran = run("fps")
    assert ran.code == 2
    assert ran.err.startswith("Error: Benchmark fps found a disagreement: 64: wrong, against float32: DISAGREES")
    assert ran.err.count("\n") == 1
    right, wrong = ran.report("fps")["rows"]
    assert right["way"] == fps.OWN_WAY and right["frames/s"] > 0
    assert wrong == {"size": 64, "way": "wrong (disagrees)", "frames/s": None}


def test_a_peer_that_transformers_lacks_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "PEERS", (replace(PEERS[0], name="SAM 9", needs=("Sam9Model",)),))
    report = checked(run("peers"), "peers")
    assert report["rows"][1] == {"model": "SAM 9 (missing)"}
    assert any("lacks Sam9Model" in note for note in report["notes"])
    assert "SAM 9 (missing)" in Path(run("peers").folder / "peers.json").read_text("utf-8")


def test_a_peer_that_breaks_is_no_error_of_ours(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> Built:
        raise TypeError("unexpected\nkeyword")

    def not_numbers(*_: object) -> Built:
        return Built(lambda _: lambda: torch.full((2,), torch.nan), "1", 0.0)

    broken = tuple(replace(PEERS[0], name=name, build=build) for name, build in (("A", wrong), ("B", not_numbers)))
    monkeypatch.setattr(peers, "PEERS", broken)
    report = checked(run("peers"), "peers")
    assert [row["model"] for row in report["rows"][1:]] == ["A (failed)", "B (failed)"]
    assert "A: could not be run: TypeError: unexpected keyword" in report["notes"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("speed",), f"There is no benchmark 'speed'; choose {', '.join(BENCHMARKS)} or all."),
        (
            ("fps", "--precision", "int3"),
            "There is no precision 'int3'; choose one of auto, float32, bfloat16, float16.",
        ),
        (("fps", "--precision", "float16"), "float16 needs a GPU; on the CPU choose bfloat16 or float32."),
        (("fps", "--device", "abacus"), "The device 'abacus' cannot be used"),
        (("fps", "--preset", "huge"), "huge"),
        (("training", "--preset", "default", "--stage", 9), "has 8 stages; choose --stage 1 to 8"),
        (("training", "--preset", "default", "--stage", 7), "Stage 7 of default is an average; choose another."),
        (("training", "--preset", "default", "--stage", 4), "Stage 4 of default learns from features kept before it"),
        (("end_to_end", "--size", "720p"), "--size takes WIDTHxHEIGHT, as 1280x720, not '720p'"),
        (("end_to_end", "--size", f"{'9' * 5000}x720"), "--size takes WIDTHxHEIGHT, as 1280x720, not '999"),
        (("end_to_end", "--size", "720x1280"), "sides are even, from 64 to 8192, and the width is the longer one"),
        (("precision", "--data", "photographs"), "There is no dataset 'photographs'"),
        (("memory", "--preset", "paper_image"), "The preset paper_image lacks a memory"),
        (("cpu", "--checkpoint", "no such"), "There is no checkpoint 'no such'"),
    ],
)
def test_a_wrong_request_is_one_sentence(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.err.startswith("Error: ") and ran.err.count("\n") == 1
    assert sentence in ran.err
    assert ran.out == ""
    assert not ran.folder.exists()


def test_a_checkpoints_clip_is_measured_at_the_size_that_is_asked_for(run: Run) -> None:
    report = checked(run("end_to_end", "--checkpoint", "shapes", "--size", "128x96", "--repeats", 1), "end_to_end")
    assert "12 frames of 128 x 96" in report["title"]
    assert any(f"drawing on {drawing_threads()} thread" in note for note in report["notes"])


def test_precision_is_asked_of_named_data(run: Run, checkpoint: Path) -> None:
    report = checked(run("precision", "--checkpoint", checkpoint, "--data", "shapes"), "precision")
    assert report["title"].endswith("2 questions of shapes")
    assert report["rows"][0]["mean"] == 1


def test_all_runs_the_others_when_one_stops(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {name: BENCHMARKS[name] for name in ("precision", "memory", "expressions")}
    monkeypatch.setattr("locater.bench.catalog.BENCHMARKS", chosen)
    ran = run("all", "--checkpoint", "no such")
    assert ran.code == 2
    assert "There is no checkpoint 'no such'" in ran.err
    assert "precision stopped: There is no checkpoint" in ran.out
    assert {path.name for path in ran.folder.glob("*.json")} == {"memory.json", "expressions.json"}


def test_one_write_takes_little_beside_the_literal_equation(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = checked(run("write-memory"), "write-memory")["rows"]
    assert [row["write"] for row in rows] == [
        f"{rule}, {which}" for rule in ("paper", "sum", "compete") for which in ("global", "local")
    ]
    for row in rows:
        assert 0 < row["tensors_MB"] < 100 and row["literal_MB"] > 0 and row["cuda_MB"] is None
    monkeypatch.setattr(write_memory, "LIMIT", 1e-6)
    ran = run("write-memory", "--force")
    assert ran.code == 2
    assert "Benchmark write-memory found a disagreement: paper, global: MB at most: DISAGREES" in ran.err


def test_a_training_step_is_timed_where_its_losses_agree(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    report = checked(run("training"), "training")
    plain, recomputed = timed_rows(report)
    assert (plain["way"], recomputed["way"]) == (training.PLAIN, "blocks recomputed")
    assert plain["clips/s"] == pytest.approx(2 / (plain["median_ms"] / 1e3))
    assert 0 < plain["matrix share"] < 2
    assert any("CUDA graphs need a CUDA device" in note for note in report["notes"])
    assert len(report["checks"]) == 1

    monkeypatch.setattr(training, "_ways", lambda _: {"another rate": {"learning_rate": 0.1}})
    ran = run("training", "--force")
    assert ran.code == 2 and "another rate: losses against op by op: DISAGREES" in ran.err
    assert ran.report("training")["rows"][1] == {"way": "another rate (disagrees)"}


def test_what_is_random_in_training_is_still_while_losses_are_compared() -> None:
    table = PretrainedEmbedding(Vocabulary(("dog", "cat")), 2, 4, 0, 8, forget=0.5)
    table.trained_rows[2:] = torch.tensor([1, 2])
    parts = nn.Sequential(DropPath(0.5), nn.Linear(4, 4), table).train()
    parts[0].inside = nn.Linear(4, 4)
    ones, words = torch.ones(64, 4), torch.randint(4, 6, (4, 50))
    assert not torch.equal(parts[0](ones), ones) and not torch.equal(table(words), table(words))
    training._still(parts)
    assert torch.equal(parts[0](ones), ones) and torch.equal(table(words), table(words))
    assert parts[1].training and parts[0].inside.training, "all else trains"
