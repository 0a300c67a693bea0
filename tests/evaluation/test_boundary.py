"""J and F against references written from the definition, on made and on real masks; and their speed."""

import math
import time

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from locater.evaluation.metrics.packed_masks import PackedMask, compare
from tests.support.a2d_test_masks import KINDS, predicted, true_mask, truth_json, truth_path

Mask = npt.NDArray[np.bool_]


def slow_boundary(mask: Mask) -> set[tuple[int, int]]:
    """The toolkit's boundary, pixel by pixel."""
    height, width = mask.shape
    found = set()
    for y in range(height):
        for x in range(width):
            if y == height - 1 and x == width - 1:
                continue
            neighbours = [(y, x + 1), (y + 1, x), (y + 1, x + 1)]
            if y == height - 1:
                neighbours = [(y, x + 1)]
            elif x == width - 1:
                neighbours = [(y + 1, x)]
            if any(mask[y, x] != mask[other] for other in neighbours):
                found.add((y, x))
    return found


def array_boundary(mask: Mask) -> npt.NDArray[np.int64]:
    """The same in whole arrays, for real sizes; (N, 2)."""
    found = np.zeros_like(mask)
    found[:-1, :-1] = (
        (mask[:-1, :-1] ^ mask[:-1, 1:]) | (mask[:-1, :-1] ^ mask[1:, :-1]) | (mask[:-1, :-1] ^ mask[1:, 1:])
    )
    found[-1, :-1] = mask[-1, :-1] ^ mask[-1, 1:]
    found[:-1, -1] = mask[:-1, -1] ^ mask[1:, -1]
    return np.argwhere(found)


def slow_f(predicted: npt.NDArray[np.int64], truth: npt.NDArray[np.int64], shape: tuple[int, ...]) -> float:
    """F from all distances between the pixels of two boundaries."""
    if len(predicted) == 0 or len(truth) == 0:
        return float(len(predicted) == len(truth))
    radius = math.ceil(0.008 * math.hypot(*shape))
    near = np.zeros((len(predicted), len(truth)), dtype=np.bool_)
    for start in range(0, len(predicted), 256):
        offsets = predicted[start : start + 256, None] - truth[None]
        near[start : start + 256] = (offsets**2).sum(-1) <= radius**2
    precision, recall = near.any(1).mean(), near.any(0).mean()
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def slow_j(predicted: Mask, truth: Mask) -> float:
    union = np.logical_or(predicted, truth).sum()
    return float(np.logical_and(predicted, truth).sum() / union) if union else 1.0


def masks() -> st.SearchStrategy[tuple[Mask, Mask]]:
    def pair(shape: tuple[int, ...]) -> st.SearchStrategy[tuple[Mask, Mask]]:
        return st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape))

    return array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=24).flatmap(pair)


@given(masks())
@settings(max_examples=150, deadline=None)
def test_any_small_masks_agree_with_the_definition(pair: tuple[Mask, Mask]) -> None:
    one, other = pair
    counts = compare(PackedMask.of(one), PackedMask.of(other))
    ours, theirs = (np.array(sorted(slow_boundary(mask)), dtype=np.int64).reshape(-1, 2) for mask in pair)
    assert counts.predicted_boundary == len(ours) == len(array_boundary(one))
    assert counts.iou == pytest.approx(slow_j(one, other), abs=1e-12)
    assert counts.boundary_f == pytest.approx(slow_f(ours, theirs, one.shape), abs=1e-12)


def dilated(points: npt.NDArray[np.int64], shape: tuple[int, int], radius: int) -> Mask:
    """Every pixel of a picture that a disk around one of the points covers."""
    found = np.zeros(shape, np.bool_)
    for y in range(-radius, radius + 1):
        for x in range(-radius, radius + 1):
            if y * y + x * x <= radius * radius:
                moved = points + np.array([y, x])
                inside = ((moved >= 0) & (moved < shape)).all(1)
                found[tuple(moved[inside].T)] = True
    return found


def made_object(shape: tuple[int, int], seed: int) -> Mask:
    """A body with an uneven edge, about the same for every seed."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[: shape[0], : shape[1]]
    dy, dx = y - shape[0] * 0.5 - generator.normal(0, 3), x - shape[1] * 0.45 - generator.normal(0, 3)
    angle = np.arctan2(dy, dx)
    edge = sum(generator.normal(0, 0.05) * np.sin(k * angle + generator.uniform(0, 7)) for k in range(2, 12))
    body: Mask = np.hypot(dy, dx) < shape[0] * 0.3 * (1 + edge)
    return body


@pytest.mark.parametrize(("shape", "radius"), [((480, 854), 8), ((480, 910), 9), ((360, 640), 6)])
def test_videos_of_real_size_agree_with_the_definition(shape: tuple[int, int], radius: int) -> None:
    """Small masks have a tolerance of one pixel, in which 0.008 is 0.01 and a disk is a diamond."""
    assert radius == math.ceil(0.008 * math.hypot(*shape))
    predicted, truth = made_object(shape, 0), made_object(shape, 1)
    counts = compare(PackedMask.of(predicted), PackedMask.of(truth))
    ours, theirs = array_boundary(predicted), array_boundary(truth)
    assert (counts.predicted_boundary, counts.truth_boundary) == (len(ours), len(theirs))
    assert counts.predicted_matched == dilated(theirs, shape, radius)[tuple(ours.T)].sum()
    assert counts.truth_matched == dilated(ours, shape, radius)[tuple(theirs.T)].sum()
    assert 0.1 < counts.predicted_matched / len(ours) < 0.9  # as many points near as far
    assert counts.boundary_f == pytest.approx(slow_f(ours, theirs, shape), abs=1e-12)


def test_what_has_no_boundary() -> None:
    full, empty, some = np.ones((40, 60), np.bool_), np.zeros((40, 60), np.bool_), np.zeros((40, 60), np.bool_)
    some[10:20, 10:20] = True

    def f(one: Mask, other: Mask) -> float:
        return compare(PackedMask.of(one), PackedMask.of(other)).boundary_f

    assert f(empty, empty) == f(full, full) == f(full, empty) == 1  # the toolkit sees no edge at the picture's rim
    assert f(some, empty) == f(empty, some) == f(full, some) == 0
    assert f(some, some) == 1


def test_void_pixels_count_for_neither() -> None:
    one, other, void = (np.zeros((30, 30), np.bool_) for _ in range(3))
    one[5:15, 5:15] = other[5:15, 5:15] = True
    one[20:25, 20:25] = void[19:26, 19:26] = True
    counts = compare(PackedMask.of(one), PackedMask.of(other), PackedMask.of(void))
    assert counts.iou == counts.boundary_f == 1
    assert compare(PackedMask.of(one), PackedMask.of(other)).iou == 0.8


def test_masks_of_different_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(4, 5\) against a true one of \(5, 4\)"):
        compare(PackedMask.of(np.zeros((4, 5), np.bool_)), PackedMask.of(np.zeros((5, 4), np.bool_)))


@pytest.mark.parametrize("kind", KINDS)
def test_real_masks_agree_with_the_definition(kind: str) -> None:
    real = truth_json(truth_path())["annotations"]
    for number in range(0, len(real), 38):  # a hundred of the 3,800: all distances take their time
        truth = true_mask(real[number])
        answer = predicted(kind, truth, number)
        counts = compare(PackedMask.of(answer), PackedMask.of(truth))
        assert abs(counts.iou - slow_j(answer, truth)) < 1e-9
        assert abs(counts.boundary_f - slow_f(array_boundary(answer), array_boundary(truth), truth.shape)) < 1e-9


@pytest.mark.parametrize("content", ["object", "noise"])
def test_j_and_f_of_480p_take_less_than_15_milliseconds(content: str) -> None:
    generator = np.random.default_rng(0)
    if content == "noise":
        one, other = generator.random((2, 480, 854)) < 0.5
    else:
        one, other = np.zeros((2, 480, 854), np.bool_)
        one[100:350, 200:600] = other[110:340, 190:590] = True
    times = []
    for _ in range(9):
        started_at = time.perf_counter()
        compare(PackedMask.of(one), PackedMask.of(other))
        times.append(time.perf_counter() - started_at)
    assert sorted(times)[4] < 0.015
