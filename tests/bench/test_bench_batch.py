"""What the batch engine costs beside a plain loop: the arithmetic here, the real commands as a proof."""

from pathlib import Path

import pytest

from locater.bench.harness.processes import Used, measured
from locater.bench.suites.batch import MANY, ONE, PLAIN, make_videos, rows_of
from locater.errors import LocaterError
from locater.video.reader import open_source
from tests.support.bench_command import run_bench


def test_the_engine_is_compared_with_the_plain_loop_of_the_same_round() -> None:
    taken = {
        PLAIN: [Used(10, 20, 0), Used(20, 20, 0), Used(40, 20, 0)],
        ONE: [Used(11, 22, 0), Used(24, 21, 0), Used(40, 20, 0)],
        MANY: [Used(5, 20, 0), Used(10, 20, 0), Used(20, 20, 0)],
    }
    plain, one, many = rows_of(taken, frames=100)
    assert (plain["seconds"], plain["frames/s"]) == (20, 5) and "over plain" not in plain
    assert one["over plain"] == pytest.approx(0.1) and one["cpu over plain"] == pytest.approx(0.05)
    assert many["over plain"] == pytest.approx(-0.5) and many["cpu over plain"] == 0


def test_videos_are_as_long_as_said_and_differ(tmp_path: Path) -> None:
    first, second = make_videos(tmp_path, count=2, seconds=1)
    assert open_source(first).info.duration == pytest.approx(1.0)
    assert first.read_bytes() != second.read_bytes()
    assert (tmp_path / "list.csv").read_text("utf-8").splitlines()[1] == "video0.mp4,the red circle"


def test_a_commands_time_is_all_of_its_own_and_a_failing_one_is_told() -> None:
    used = measured(("--version",), threads=1)
    assert 0 < used.cpu_seconds < 60 and used.seconds > 0
    with pytest.raises(LocaterError, match=r"`locater info` ended with 2: Error: "):
        measured(("info", "no such thing"), threads=1)


@pytest.mark.proof
def test_the_benchmark_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    report = run_bench(monkeypatch, capsys, tmp_path / "out", "batch").report("batch")
    assert [row["way"] for row in report["rows"]] == [PLAIN, ONE, MANY]
    assert all(check["holds"] for check in report["checks"])
