"""The plain word on each sentence once a video is done."""

from dataclasses import replace

import numpy as np

from locater.inference.telling.findings import Findings
from tests.support.making_videos import moving_masks, result


def test_nothing_found_and_low_scores_are_told_and_good_ones_are_not() -> None:
    findings = Findings(["the dog", "the cow", "the horse"])
    for index in range(4):
        masks = moving_masks(index, count=3)
        masks[2] = False
        findings.take(replace(result(index, masks), score=(0.9, 0.2 + 0.1 * index, 0.0)))
    assert list(findings.sentences()) == [
        'The score of "the cow" is low (0.35); look at its masks before you use them.',
        'Nothing was found for "the horse".',
    ]


def test_without_calibrated_scores_only_nothing_is_told() -> None:
    findings = Findings(["the dog", "the cow"])
    made = result(0, np.concatenate([moving_masks(0, count=1), np.zeros((1, 64, 96), np.bool_)]))
    findings.take(replace(made, presence=(0.1, 0.1)))
    assert list(findings.sentences()) == ['Nothing was found for "the cow".']
