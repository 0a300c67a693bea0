"""Corrections: the corrected frame does as it is told, those before and after follow, and nothing else changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from locater.config import preset
from locater.errors import LocaterError
from locater.inference.correction import corrected_video
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.records import Click, Correction, FrameResult, VideoState
from tests.support.randomised import randomise

WORDS = ["a", "dog", "left", "on", "right", "the"]
DOG = "the dog on the left"
CLICKED = Correction(6, 0, (Click(20, 15), Click(45, 33, is_inside=False)))
Video = npt.NDArray[np.uint8]


SETTINGS = {"text": {"vocabulary": WORDS}, "memory": {"interval": 4}}


@pytest.fixture(scope="module")
def plain() -> Segmenter:
    return Segmenter(build(preset("tiny", SETTINGS), seed=0), "cpu")


@pytest.fixture(scope="module")
def refining() -> Segmenter:
    model = build(preset("tiny", {**SETTINGS, "refiner": {"enlarged": 1.0}}), seed=0)
    assert model.refiner is not None
    randomise(model.refiner)
    return Segmenter(model, "cpu")


@pytest.fixture(params=["plain", "refining"])
def segmenter(request: pytest.FixtureRequest) -> Segmenter:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Segmenter)
    return found


@pytest.fixture(scope="module")
def video() -> Video:
    """Thirteen frames: a bright square moves to the right over a still ground."""
    ground = np.random.default_rng(0).integers(0, 60, (36, 50, 3), dtype=np.uint8)
    frames = np.stack([ground] * 13)
    for index, frame in enumerate(frames):
        frame[8:24, 8 + index : 28 + index] = (250, 30, 30)
    return frames


def areas(results: list[FrameResult], row: int = 0) -> list[int]:
    return [int(result.masks[row].sum()) for result in results]


def soft(result: FrameResult) -> npt.NDArray[np.float32]:
    assert result.soft_masks is not None
    return result.soft_masks


def test_clicks_are_honoured_and_the_frames_around_follow(segmenter: Segmenter, video: Video) -> None:
    before = list(segmenter.segment(video, DOG, soft=True))
    after = list(segmenter.segment(video, DOG, soft=True, corrections=[CLICKED]))
    assert [result.frame.index for result in after] == list(range(13))
    assert after[6].masks[0, 15, 20] and not after[6].masks[0, 33, 45]
    for index in (0, 5, 7, 12):
        assert not np.array_equal(soft(before[index]), soft(after[index]))
    assert not torch.allclose(before[6].state.local_cells, after[6].state.local_cells, atol=1e-3)


def test_live_a_correction_holds_from_its_frame_on(plain: Segmenter, video: Video) -> None:
    before = list(plain.segment(iter(video), DOG, soft=True))
    after = list(plain.segment(iter(video), DOG, soft=True, corrections=[CLICKED]))
    for index in range(6):
        np.testing.assert_allclose(soft(before[index]), soft(after[index]), atol=1e-4)
    assert after[6].masks[0, 15, 20] and not np.array_equal(soft(before[7]), soft(after[7]))
    (five, ours_five), (six, ours_six) = ((before[i].state.local_cells, after[i].state.local_cells) for i in (5, 6))
    torch.testing.assert_close(five, ours_five, atol=1e-4, rtol=0)
    assert not torch.allclose(six, ours_six, atol=1e-3)  # the corrected mask is what is remembered of its frame


def test_a_drawn_mask_is_kept_pixel_for_pixel_and_followed(plain: Segmenter, video: Video) -> None:
    drawn = np.zeros((36, 50), dtype=np.bool_)
    drawn[8:24, 18:38] = True
    results = list(plain.segment(video, DOG, soft=True, corrections=[Correction(6, mask=drawn)]))
    assert np.array_equal(results[6].masks[0], drawn) and np.array_equal(soft(results[6])[0], drawn)
    nothing = Correction(6, mask=np.zeros((36, 50), dtype=np.bool_))
    gone = plain.track(video, DOG, corrections=[nothing])
    assert gone.areas()[6] == 0
    assert sum(areas(results)) > sum(gone.areas())


def test_a_box_holds_the_mask(segmenter: Segmenter, video: Video) -> None:
    track = segmenter.track(
        video, DOG, corrections=[Correction(6, box=(18, 8, 38, 24)), replace(CLICKED, clicks=CLICKED.clicks[:1])]
    )
    mask = track.mask(6)
    assert mask[15, 20] and not mask[27:].any() and not mask[:, 42:].any() and not mask[:, :13].any()


def test_a_click_alone_needs_no_sentence(segmenter: Segmenter, video: Video) -> None:
    told = replace(CLICKED, expression=1)
    results = list(segmenter.segment(video, [DOG, ""], corrections=[told]))
    assert results[6].masks[1, 15, 20] and results[6].word_attention[1] == ()
    assert [word for word, _ in results[6].word_attention[0]] == DOG.split()
    live = list(segmenter.segment(iter(video), ["", DOG], corrections=[CLICKED]))
    assert areas(live)[:6] == [0] * 6 and live[6].masks[0, 15, 20]


def test_the_other_sentence_keeps_its_masks(plain: Segmenter, video: Video) -> None:
    before = list(plain.segment(video, [DOG, "a dog"], soft=True))
    corrected = list(plain.segment(video, [DOG, "a dog"], soft=True, corrections=[CLICKED]))
    for ours, theirs in zip(corrected, before, strict=True):
        np.testing.assert_allclose(soft(ours)[1], soft(theirs)[1], atol=1e-4)


@pytest.mark.parametrize("stop", [2, 6, 8])
def test_resumed_equals_uninterrupted_bit_for_bit(
    segmenter: Segmenter, video: Video, tmp_path: Path, stop: int
) -> None:
    told = [CLICKED, Correction(11, 0, (Click(30, 12),))]
    whole = list(segmenter.segment(video, DOG, soft=True, chunk_frames=4, corrections=told))
    whole[stop].state.save(tmp_path / "state.safetensors")
    state = VideoState.load(tmp_path / "state.safetensors")
    rest = list(segmenter.segment(video, DOG, soft=True, chunk_frames=4, corrections=told, state=state))
    assert [result.frame.index for result in rest] == list(range(stop + 1, 13))
    for ours, theirs in zip(rest, whole[stop + 1 :], strict=True):
        assert np.array_equal(soft(ours), soft(theirs))


def test_a_stream_goes_on_following_from_its_state(plain: Segmenter, video: Video) -> None:
    whole = list(plain.segment(iter(video), "", soft=True, corrections=[CLICKED]))
    rest = list(plain.segment(iter(video[9:]), "", soft=True, state=whole[8].state))
    for ours, theirs in zip(rest, whole[9:], strict=True):
        assert np.array_equal(soft(ours), soft(theirs))


def test_each_correction_wins_around_its_frame(plain: Segmenter, video: Video) -> None:
    """Up to halfway to the next one, its frames are those that follow it alone, whatever is said later."""
    full, none = (np.full((36, 50), value) for value in (True, False))
    track = plain.track(video, "", corrections=[Correction(2, mask=full), Correction(10, mask=none)])
    assert all(area > 0 for area in track.areas()[:7]) and not any(track.areas()[7:])


def test_the_way_back_has_an_end(plain: Segmenter, video: Video, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corrected_video, "FARTHEST_BACK", 3)
    full = np.ones((36, 50), dtype=np.bool_)
    assert [area > 0 for area in plain.track(video, "", corrections=[Correction(8, mask=full)]).areas()[:9]] == [
        index >= 5 for index in range(9)
    ]


def test_the_state_does_not_grow(plain: Segmenter, video: Video) -> None:
    sizes = {result.state.nbytes for result in plain.segment(iter(video), "", corrections=[CLICKED])}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (Correction(13, 0, (Click(1, 1),)), "no frame 13 to correct: frames are numbered from 0, and the video has 13"),
        (Correction(-1, 0, (Click(1, 1),)), "no frame -1"),
        (Correction(0, 1, (Click(1, 1),)), "Sentence 2 is corrected, but there are 1"),
        (Correction(0, 0, (Click(50, 1),)), "outside the picture, which is 50 x 36"),
        (Correction(0, 0, (Click(1, -0.5),)), "outside the picture"),
        (Correction(0, 0, (Click(float("nan"), 1),)), "no number"),
        (Correction(0, 0, box=(10, 5, 10, 20)), "holds nothing of the picture"),
        (Correction(0, 0, box=(60, 5, 70, 20)), "holds nothing of the picture"),
        (Correction(0, 0, mask=np.zeros((5, 5), dtype=np.bool_)), "is 5 x 5 pixels, the picture 50 x 36"),
        (Correction(0), "says nothing"),
    ],
)
def test_bad_corrections_fail_before_any_frame_is_read(
    plain: Segmenter, video: Video, told: Correction, message: str
) -> None:
    with pytest.raises(LocaterError, match=message):
        plain.segment(video, DOG, corrections=[told])


def test_what_only_a_stream_can_tell_is_told_when_it_is_known(plain: Segmenter, video: Video) -> None:
    with pytest.raises(LocaterError, match="outside the picture"):
        list(plain.segment(iter(video[:3]), DOG, corrections=[Correction(1, 0, (Click(99, 1),))]))
    with pytest.raises(LocaterError, match="Frame 5 is corrected, but the video has 3 frames"):
        list(plain.segment(iter(video[:3]), DOG, corrections=[Correction(5, 0, (Click(1, 1),))]))
    with pytest.raises(LocaterError, match="holds no words"):
        plain.segment(video, [DOG, ""], corrections=[CLICKED])
