"""The expected calibration error against its definition."""

import random

import pytest

from locater.evaluation.metrics.calibration import calibration


def test_the_error_is_the_weighted_gap_of_the_bins() -> None:
    found = calibration([0.95, 0.93, 0.91, 0.21, 0.29], [True, True, False, False, True])
    assert [each.count for each in found.bins] == [2, 3]
    assert found.bins[1].right == pytest.approx(2 / 3) and found.bins[0].confidence == pytest.approx(0.25)
    assert found.error == pytest.approx(2 / 5 * abs(0.25 - 0.5) + 3 / 5 * abs(0.93 - 2 / 3))
    assert calibration([1.0, 0.0], [True, False]).error == 0
    assert calibration([], []).error == 0


def test_honest_confidences_have_almost_none_and_boastful_ones_much() -> None:
    rng = random.Random(0)
    honest = [rng.random() for _ in range(20_000)]
    outcomes = [rng.random() < each for each in honest]
    assert calibration(honest, outcomes).error < 0.015
    assert calibration([each**0.3 for each in honest], outcomes).error > 0.2
