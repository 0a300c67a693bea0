"""Sums over questions: exact thresholds, and the identical result for any order and any split."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.exact_mean import ExactMean
from locater.evaluation.metrics.sample_score import FrameScore, SampleScore
from locater.evaluation.metrics.summary import Summary, grouped, summarise
from locater.records import SampleInfo


def counts(predicted: int, truth: int, shared: int) -> FrameCounts:
    edge = min(predicted, 9), min(truth, 9)
    return FrameCounts(predicted, truth, shared, *edge, min(edge), min(edge) // 2)


def question(key: str, frames: Sequence[FrameCounts], confidence: float = 0.5, kind: str = "") -> SampleScore:
    scores = tuple(FrameScore(index, each, confidence) for index, each in enumerate(frames))
    return SampleScore(SampleInfo(key, f"video of {key}", "it", kind, object_count=len(key) % 3), scores, 30, 1 / 3)


@st.composite
def frame_counts(draw: st.DrawFn) -> FrameCounts:
    predicted, truth = draw(st.integers(0, 40)), draw(st.integers(0, 40))
    return counts(predicted, truth, draw(st.integers(0, min(predicted, truth))))


@st.composite
def questions(draw: st.DrawFn) -> list[SampleScore]:
    found = []
    for number in range(draw(st.integers(1, 12))):
        frames = draw(st.lists(frame_counts(), max_size=4))
        confidence = draw(st.sampled_from([0.1, 0.25, 0.7, 0.7000000000000001]))
        found.append(question(f"q{number}", frames, confidence))
    return found


@given(questions(), st.data())
@settings(max_examples=100, deadline=None)
def test_any_order_gives_the_identical_result(samples: list[SampleScore], data: st.DataObject) -> None:
    whole = summarise(samples)
    total = Summary()
    for sample in data.draw(st.permutations(samples)):
        # Through a file, as answers of other processes come.
        total.add(SampleScore.from_json(json.loads(json.dumps(sample.to_json()))))
    assert json.dumps(total.result()) == json.dumps(whole)  # repr of floats: every bit


@given(st.lists(st.floats(-1e300, 1e300), min_size=1))
def test_a_mean_does_not_depend_on_the_order(values: list[float]) -> None:
    one, other = ExactMean(), ExactMean()
    for value in values:
        one.add(value)
    for value in sorted(values):
        other.add(value)
    assert one.value == other.value


def test_an_overlap_exactly_at_a_threshold_is_at_it_and_not_above_it() -> None:
    scores = summarise([question("a", [counts(3, 5, 3)]), question("b", [counts(10, 10, 10)])])  # 0.6 and 1
    assert scores["p@0.5"] == 1 and scores["p@0.6"] == 0.5 and scores["p@0.6_or_equal"] == 1
    assert scores["map_of_precisions"] == pytest.approx((2 + 2 + 8) / 20)
    assert scores["map_of_precisions_or_equal"] == pytest.approx((3 * 2 + 7) / 20)


def test_precision_is_averaged_over_ten_thresholds_and_not_those_that_are_printed() -> None:
    scores = summarise([question("a", [counts(53, 100, 53)])])  # above 0.5, the first of ten and of five
    assert scores["map_of_precisions"] == scores["map_of_precisions_or_equal"] == 0.1


def test_j_and_f_is_the_mean_of_the_two_over_frames_and_then_over_questions() -> None:
    halved = FrameCounts(10, 20, 10, 8, 8, 8, 4)  # J 1/2; F of P 1 and R 1/2: 2/3
    missed, right = FrameCounts(10, 10, 0, 8, 8, 0, 0), FrameCounts(10, 10, 10, 8, 8, 8, 8)
    first, second = question("a", [halved, missed]), question("b", [right])
    assert first.j == 1 / 4 and first.f == pytest.approx(1 / 3)
    assert first.j_and_f == pytest.approx((1 / 4 + 1 / 3) / 2)
    scores = summarise([first, second])
    assert scores["j"] == 5 / 8 and scores["f"] == pytest.approx(2 / 3)
    assert scores["j&f"] == pytest.approx((5 / 8 + 2 / 3) / 2)
    assert scores["miou"] == 1 / 2  # a unit of it is a frame


def test_two_empty_masks_agree_and_count_as_presence() -> None:
    scores = summarise([question("a", [counts(0, 0, 0), counts(4, 0, 0)])])
    assert scores["miou"] == 0.5 and scores["oiou"] == 0 and scores["presence_accuracy"] == 0.5
    assert scores["coco_ap"] is None  # there is no object to find


def test_a_question_is_never_counted_twice() -> None:
    one = Summary()
    one.add(question("a", []))
    with pytest.raises(ValueError, match="twice"):
        one.add(question("a", []))


def test_groups_by_kind_objects_and_length() -> None:
    found = grouped([question("a", [counts(4, 4, 4)], kind="motion"), question("bb", [counts(4, 4, 0)], kind="size")])
    assert list(found["kind"]) == ["motion", "size"] and list(found["object_count"]) == ["1", "2"]
    assert found["kind"]["motion"]["miou"] == 1 and found["kind"]["size"]["miou"] == 0
    assert list(found["length"]) == ["17-32 frames"] and found["length"]["17-32 frames"]["samples"] == 2
