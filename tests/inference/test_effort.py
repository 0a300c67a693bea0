"""The three qualities: what each does, that it does not depend on chunks, and that an interrupted video goes on."""

from itertools import islice

import numpy as np
import numpy.typing as npt
import pytest
import torch

from locater.config import preset
from locater.errors import LocaterError
from locater.inference.effort import QUALITIES, Effort, Quality, effort_of
from locater.inference.redrawing import RedrawnPart
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.records import FrameResult
from tests.support.randomised import randomise

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
WORDS = ["the", "dog", "cat"]
SAID = ["the dog", "the cat"]


@pytest.fixture(scope="module")
def video() -> npt.NDArray[np.uint8]:
    small = np.random.default_rng(0).integers(0, 256, (11, 9, 12, 3), dtype=np.uint8)
    return small.repeat(8, axis=1).repeat(8, axis=2)


def segmenter_of(quality: Quality) -> Segmenter:
    changes = {"text": {"vocabulary": WORDS}, "memory": {"interval": 4}, "refiner": {"enlarged": 1.5}}
    model = build(preset("tiny", changes), seed=0)
    assert model.refiner is not None
    randomise(model.refiner)
    return Segmenter(model, "cpu", "float32", quality=quality)


def soft_of(results: list[FrameResult]) -> npt.NDArray[np.float32]:
    return np.stack([result.soft_masks for result in results if result.soft_masks is not None])


@pytest.mark.parametrize("quality", QUALITIES)
def test_an_interrupted_video_goes_on_bit_for_bit(quality: Quality, video: npt.NDArray[np.uint8]) -> None:
    segmenter = segmenter_of(quality)
    whole = list(segmenter.segment(list(video), SAID, soft=True, frames_per_second=8))
    begun = list(islice(segmenter.segment(list(video), SAID, soft=True, frames_per_second=8), 3))
    rest = list(segmenter.segment(list(video), SAID, soft=True, frames_per_second=8, state=begun[-1].state))
    assert np.array_equal(soft_of(whole), np.concatenate([soft_of(begun), soft_of(rest)]))


def test_the_first_mask_waits_for_no_other_frame(video: npt.NDArray[np.uint8]) -> None:
    segmenter = segmenter_of("default")
    encoded: list[int] = []
    segmenter.model.visual.register_forward_hook(lambda _, given, __: encoded.append(given[0].shape[1]))
    results = segmenter.segment(list(video), SAID, frames_per_second=8)
    next(results)
    first = len(encoded)
    assert first == 3 + 1  # of the first pass, whose interval is 4, and frame 0
    assert len(list(results)) == 10 and len(encoded) == 3 + 11
    at_once = soft_of(list(segmenter.segment(list(video), SAID, soft=True, frames_per_second=8, chunk_frames=11)))
    cut = soft_of(list(segmenter.segment(list(video), SAID, soft=True, frames_per_second=8)))
    np.testing.assert_allclose(cut, at_once, atol=1e-5)


def test_qualities_differ_and_all_masks_are_of_the_videos_size(video: npt.NDArray[np.uint8]) -> None:
    by_quality = {
        quality: soft_of(list(segmenter_of(quality).segment(list(video), SAID, soft=True, frames_per_second=8)))
        for quality in QUALITIES
    }
    assert by_quality["best"].shape == by_quality["fast"].shape == (11, 2, 72, 96)
    assert not np.allclose(by_quality["best"], by_quality["default"], atol=1e-3)
    assert not np.allclose(by_quality["default"], by_quality["fast"], atol=1e-3)


def test_masks_are_shown_as_fine_as_they_were_redrawn(
    video: npt.NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RedrawnPart, "onto", lambda _, soft: soft.fill_(0.75))
    by_quality = {
        quality: soft_of(list(segmenter_of(quality).segment(list(video), SAID, soft=True, frames_per_second=8)))
        for quality in QUALITIES
    }
    is_redrawn = {quality: (soft == 0.75).all((2, 3)) for quality, soft in by_quality.items()}
    assert not is_redrawn["best"].any()
    assert is_redrawn["default"].any() and is_redrawn["fast"].any()
    assert not (by_quality["default"][~is_redrawn["default"]] > 0.5).any()  # nothing else is marked


def test_best_is_the_network_whole_and_a_gpu_refines_whole_frames() -> None:
    assert effort_of("best", CPU) == effort_of("best", CUDA) == Effort()
    for quality in QUALITIES:
        assert effort_of(quality, CUDA).refined_cells is None and not effort_of(quality, CUDA).is_by_frame
        assert effort_of(quality, CUDA).scale == effort_of(quality, CPU).scale
    fast, usual = effort_of("fast", CPU), effort_of("default", CPU)
    assert fast.refined_cells is not None and usual.refined_cells is not None
    assert fast.refined_cells < usual.refined_cells and fast.scale < usual.scale == 1


def test_best_is_float32_unless_told_otherwise() -> None:
    model = segmenter_of("best").model
    assert Segmenter(model, "cpu", "auto", quality="best").precision == "float32"
    assert Segmenter(model, "cpu", "bfloat16", quality="best").precision == "bfloat16"


def test_an_unknown_quality_is_refused() -> None:
    with pytest.raises(LocaterError, match="choose one of fast, default, best"):
        effort_of("splendid", CPU)  # type: ignore[arg-type]
