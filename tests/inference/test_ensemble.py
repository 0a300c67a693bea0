"""Several mask sequences joined, and an image model as a source of them."""

from pathlib import Path

import numpy as np
import pytest
import torch

import locater
from locater.config import GroundingConfig, preset
from locater.errors import LocaterError
from locater.inference.ensemble.fusing import checked_how, fused, weights_of
from locater.inference.ensemble.image_model import ImageModel, followed
from locater.inference.ensemble.scoring import Scorer
from locater.model.build import build
from locater.model.grounding.grounding import Grounding
from locater.video.reader import open_source
from tests.support.tiny_clipseg import tiny_clipseg

ON, OFF = np.ones((4, 6), dtype=np.bool_), np.zeros((4, 6), dtype=np.bool_)


def test_the_best_a_vote_or_the_first_with_gaps_filled() -> None:
    assert weights_of([0.3, 0.8, 0.7], "select") == [0, 1, 0]
    assert weights_of([0.6, 0.8, 0.7], "fill") == [1, 0, 0], "the main member is believed"
    assert weights_of([0.3, 0.8, 0.7], "fill") == [0, 1, 0], "what it hardly knows, another may"
    assert weights_of([0.3, 0.2], "fill") == [1, 0]
    votes = weights_of([0.3, 0.8, 0.79], "fuse")
    assert sum(votes) == pytest.approx(1) and votes[1] > votes[2] > votes[0]
    with pytest.raises(LocaterError, match="choose select, fuse, fill"):
        checked_how("best")


def test_the_weighted_majority_wins_and_who_says_nothing_has_no_vote() -> None:
    candidates = [{0: ON, 1: OFF}, {0: OFF, 1: ON}, {0: OFF}]
    masks = fused(candidates, [0.5, 0.2, 0.3])
    assert not masks[0].any(), "half is no majority"
    assert not masks[1].any() and fused(candidates, [0.2, 0.5, 0.3])[1].all()
    assert not fused([{0: ON}, {}], [0.0, 1.0])[0].any(), "a member that does not count fills nothing"
    with pytest.raises(LocaterError, match="different sizes"):
        fused([{0: ON}, {0: ON.T}], [0.5, 0.5])


def test_scores_need_frames_that_all_have() -> None:
    backbone = build(preset("tiny", {"text": {"vocabulary": ["dog"]}}), seed=0)
    scorer = Scorer(Grounding(GroundingConfig(width=16, heads=2, frames=3), 32), backbone, "cpu")
    video = open_source(np.random.default_rng(0).integers(0, 256, (5, 40, 60, 3), dtype=np.uint8))
    on, off = np.ones((40, 60), dtype=np.bool_), np.zeros((40, 60), dtype=np.bool_)
    scores = scorer.scores(video, "dog", [dict.fromkeys(range(5), on), dict.fromkeys((0, 2, 4), off)])
    assert len(scores) == 2 and all(0 < score < 1 for score in scores) and scores[0] != scores[1]
    with pytest.raises(LocaterError, match="no frame in common"):
        scorer.scores(video, "dog", [{0: on}, {1: on}])
    with pytest.raises(LocaterError, match="ends before frame 9"):
        scorer.scores(video, "dog", [{9: on}])


@pytest.fixture(scope="module")
def clipseg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_clipseg(tmp_path_factory.mktemp("clipseg"))


def test_an_image_model_marks_each_frame_alone(clipseg: Path, tmp_path: Path) -> None:
    model = ImageModel.from_pretrained(clipseg, "cpu")
    pixels = np.random.default_rng(0).integers(0, 256, (3, 40, 60, 3), dtype=np.uint8)
    found = list(model.masks(open_source(pixels), "the dog"))
    assert [mask.shape for _, mask, _ in found] == [(40, 60)] * 3
    alone = model.soft_mask(pixels[1], "the dog")
    assert torch.equal(alone > 0.5, torch.from_numpy(found[1][1])) and 0 < found[1][2] < 1
    assert not torch.equal(alone, model.soft_mask(pixels[1], "the goat")), "the words matter"
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(LocaterError, match="is a bert"):
        ImageModel.from_pretrained(tmp_path, "cpu")
    with pytest.raises(LocaterError, match="cannot be loaded"):
        ImageModel.from_pretrained(tmp_path / "nothing", "cpu")


@pytest.mark.slow
def test_the_surest_mask_is_followed() -> None:
    """A square that moves: its mask of one frame is found again in the others, whatever the model says there."""
    segmenter = locater.load("default", "cpu")
    frames = np.full((3, 96, 96, 3), 90, dtype=np.uint8)
    truth = np.zeros((3, 96, 96), dtype=np.bool_)
    for index in range(3):
        truth[index, 30:60, 10 + 8 * index : 40 + 8 * index] = True
        frames[index][truth[index]] = (250, 20, 20)
    flickering = [truth[0], truth[1] & False, ~truth[2]]
    masks = followed(open_source(frames), flickering, [0.9, 0.2, 0.8], segmenter)
    overlaps = [(mask & true).sum() / (mask | true).sum() for mask, true in zip(masks, truth, strict=True)]
    assert np.array_equal(masks[0], truth[0]) and min(overlaps) > 0.8, overlaps
    nothing = followed(open_source(frames), [truth[0] & False] * 3, [0.9] * 3, segmenter)
    assert not np.any(nothing)
