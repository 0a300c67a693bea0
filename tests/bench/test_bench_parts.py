"""Timers, tables and plots."""

import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from locater.bench.harness import stages as stages_module
from locater.bench.harness import timing
from locater.bench.harness.chart import Bars, Lines
from locater.bench.harness.report import table
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.stages import OTHER, Stages, TimedSource
from locater.bench.harness.timing import Timing, measure
from locater.bench.suites import precision
from locater.bench.suites.precision import Asked, overlap
from locater.evaluation.metrics.packed_masks import PackedMask
from locater.video.array_source import ArraySequence

CPU = torch.device("cpu")


class Clock:
    """Stands in for the module `time`; work takes as long as it says."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def work(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "time", clock)
    monkeypatch.setattr(stages_module, "time", clock)
    return clock


def test_measuring_excludes_the_warm_up(clock: Clock) -> None:
    seconds = iter([3.0, 0.5, 0.7, 0.6, 0.8])
    assert measure(lambda: clock.work(next(seconds)), CPU, repeats=3).seconds == pytest.approx((0.7, 0.6, 0.8))
    assert next(seconds, None) is None


def test_short_work_is_measured_many_times_in_a_row(clock: Clock) -> None:
    calls: list[None] = []
    found = measure(lambda: calls.append(clock.work(0.001)), CPU, repeats=5)  # type: ignore[func-returns-value]
    assert found.seconds == pytest.approx([0.001] * 5)
    assert len(calls) == 2 + 5 * 20


def test_long_work_is_measured_less_often(clock: Clock) -> None:
    seconds = iter([9.0, 8.0])
    assert measure(lambda: clock.work(next(seconds)), CPU, repeats=10).seconds == pytest.approx((8.0,))
    assert len(measure(lambda: clock.work(4.0), CPU, repeats=10).seconds) == 5


def test_times_are_shared_by_frames() -> None:
    assert Timing((0.2, 0.4, 0.3)).milliseconds(10) == pytest.approx(
        {"median_ms": 30, "lowest_ms": 20, "highest_ms": 40}
    )


def test_a_stage_counts_its_own_time_alone(clock: Clock) -> None:
    owner = SimpleNamespace(inner=lambda: clock.work(5))

    def outer() -> None:
        clock.work(1)
        owner.inner()
        clock.work(1)

    owner.outer = outer
    before = dict(vars(owner))
    stages = Stages(CPU)
    clock.work(100)  # before the timers are on
    with stages.around((owner, "outer", "outside"), (owner, "inner", "inside"), (owner, "gone", "nowhere")):
        owner.outer()
        clock.work(3)
    assert stages.seconds == {"outside": 2, "inside": 5, OTHER: 3}
    assert vars(owner) == before


def test_a_methods_timer_leaves_the_class_alone() -> None:
    class Owner:
        def work(self) -> int:
            return 3

    owner, stages = Owner(), Stages(CPU)
    with stages.around((owner, "work", "stage"), (Owner, "work", "class")):
        assert owner.work() == 3
    assert "work" not in vars(owner) and owner.work() == 3
    assert stages.seconds.keys() >= {"stage"}


def test_a_timed_source_gives_the_same_frames() -> None:
    source = ArraySequence(np.arange(5 * 4 * 4 * 3, dtype=np.uint8).reshape(5, 4, 4, 3), 10.0)
    stages = Stages(CPU)
    timed = TimedSource(source, stages, "decode")
    assert (timed.info, timed.is_repeatable) == (source.info, True)
    assert [frame.index for frame in timed.frames(1, 2)] == [1, 3]
    assert stages.seconds["decode"] > 0


def test_masks_overlap_by_frame_and_pooled() -> None:
    drawn = np.ones((2, 2), bool), np.array([[True, True], [False, False]]), np.zeros((2, 2), bool)
    full, half, none = (PackedMask.of(each) for each in drawn)
    found = overlap([full, none], [half, none])
    assert found == {"mean": 0.75, "pooled": 0.5, "lowest": 0.5, "empty frames": 1, "aim": "missed by 0.2450"}


def test_of_two_precisions_masks_that_are_compared_no_frame_is_kept_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[weakref.ref[Any]] = []

    def segment(*_: object, **__: object) -> Iterator[SimpleNamespace]:
        for count in range(9):
            masks = np.zeros((1, 4, 4), np.bool_)
            masks[:, :count] = True
            given.append(weakref.ref(masks))
            yield SimpleNamespace(masks=masks)
            assert sum(each() is not None for each in given) <= 2

    frames = ArraySequence(np.zeros((9, 4, 4, 3), np.uint8), 10.0)
    monkeypatch.setattr(precision, "_videos", lambda *_: ([Asked(frames, ["the dog"])] * 2, "two videos"))
    monkeypatch.setattr(precision, "from_pretrained", lambda _: None)
    monkeypatch.setattr(precision, "Segmenter", lambda *_, **__: SimpleNamespace(segment=segment))
    report = precision.run(BenchRequest(CPU, "float32"))
    assert [row.get("mean") for row in report.rows] == [1.0, 1.0, None]
    assert report.rows[0]["empty frames"] == 2 and len(given) == 3 * 2 * 9


def test_a_table_puts_numbers_to_the_right_and_dashes_where_there_are_none() -> None:
    shown = table(
        ("name", "ms"), [{"name": "a long name", "ms": 0.12345678}, {"name": "b"}, {"name": "c", "ms": 12345}]
    )
    assert shown.splitlines() == [
        "name             ms",
        "a long name  0.1235",
        "b                 -",
        "c            12,345",
    ]


@pytest.mark.parametrize(
    "chart",
    [
        Lines("one point", "x", "y", {"a": [(3, 4)]}),
        Lines("decades", "x", "y", {"a": [(1, 0.01), (10_000, 5)], "b": [(10, 1)], "none": []}),
        Lines("zeros", "x", "y", {"a": [(0, 0), (1, 1)]}),
        Lines("nothing", "x", "y", {}),
        Bars("bars", "ms", {"a": 1.0, "b": 0.0}),
        Bars("no bars", "ms", {}),
    ],
)
def test_any_numbers_can_be_drawn(chart: Lines | Bars, tmp_path: Path) -> None:
    chart.save(tmp_path / "chart.png")
    with Image.open(tmp_path / "chart.png") as image:
        assert image.size == (1000, 560)
