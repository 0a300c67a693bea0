"""Scores of results, and masks that are not believed."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from locater.errors import LocaterError
from locater.inference import judging
from locater.inference.judging import Judge
from locater.inference.segmenter import Segmenter
from locater.model.checkpoint import load_second_look, save_pretrained
from locater.model.locater import Locater
from locater.records import FrameResult, Pixels, VideoState
from tests.support.making_videos import moving_masks, result
from tests.support.recognising import believing, recognising

SENTENCES = ("the red car", "the flamingo on the car", "the wug")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Locater:
    return recognising(tmp_path_factory.mktemp("words")).eval()


def marked(index: int) -> FrameResult:
    made = result(index, moving_masks(index, count=3))
    return replace(made, state=replace(made.state, expressions=SENTENCES))


def test_what_is_not_believed_is_not_marked_and_what_is_unknown_is_left_alone(model: Locater) -> None:
    judge = Judge(model, believing(model, ["car", "flamingo"], "car", 3.0), threshold=0.4)
    (judged,) = judge.over([marked(0)], None)
    assert judged.score is not None
    assert judged.score[0] == pytest.approx(1 / (1 + np.exp(-3.0)), abs=0.01)
    assert judged.score[1] == pytest.approx(1 / (1 + np.exp(3.0)), abs=0.01)
    assert judged.score[2] == pytest.approx(0.5)  # no word for it: no look, and here sureness weighs nothing
    assert [bool(mask.any()) for mask in judged.masks] == [True, False, True]
    assert np.array_equal(judged.masks[0], marked(0).masks[0])
    (all_kept,) = Judge(model, judge.second_look, threshold=0.0).over([marked(0)], None)
    assert np.array_equal(all_kept.masks, marked(0).masks) and all_kept.score == judged.score


@pytest.mark.parametrize(("painted", "is_marked"), [((200, 30, 35), True), ((35, 70, 180), False)])
def test_a_thing_without_the_colour_that_is_said_is_not_marked(
    model: Locater, painted: tuple[int, int, int], is_marked: bool
) -> None:
    judge = Judge(model, believing(model, ["car"], "car", 3.0), threshold=0.0)
    each = marked(0)
    pixels = each.frame.pixels.copy()
    pixels[each.masks[0]] = painted
    (judged,) = judge.over([replace(each, frame=replace(each.frame, pixels=pixels))], None)
    assert judged.score is not None
    assert bool(judged.masks[0].any()) is is_marked is (judged.score[0] > 0)


def test_in_black_and_white_no_colour_is_doubted_but_a_white_thing_is_not_black(model: Locater) -> None:
    told = ("the red car", "the black car", "the white car")
    each = replace(marked(0), state=replace(marked(0).state, expressions=told))
    pixels = np.repeat(each.frame.pixels.mean(-1, keepdims=True), 3, axis=-1).astype(np.uint8)
    pixels[each.masks.any(0)] = 245
    each = replace(each, frame=replace(each.frame, pixels=pixels))
    (judged,) = Judge(model, believing(model, ["car"], "car", 3.0), threshold=0.0).over([each], None)
    assert [bool(mask.any()) for mask in judged.masks] == [True, False, True]


def test_what_a_person_put_right_is_believed(model: Locater) -> None:
    judge = Judge(model, believing(model, ["car"], "car", 3.0), threshold=0.4)
    (judged,) = judge.over([marked(0)], None, unjudged=frozenset({1}))
    assert judged.score is not None and judged.score[1] == 1.0 and judged.masks[1].any()


def test_nothing_marked_has_the_score_0(model: Locater) -> None:
    judge = Judge(model, believing(model, ["car"], "car", 3.0), threshold=0.4)
    empty = marked(0)
    (judged,) = judge.over([replace(empty, masks=np.zeros_like(empty.masks))], None)
    assert judged.score == (0.0, 0.0, 0.0)


def test_masks_that_are_kept_are_not_copied_and_others_are_left_as_they_were() -> None:
    masks = np.ones((3, 4, 4), np.bool_)
    masks[2] = False
    assert judging.only_kept(masks, [True, True, False]) is masks, "an empty mask has nothing to take away"
    left = judging.only_kept(masks, [True, False, False])
    assert left[0].all() and not left[1:].any() and masks[1].all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_look_does_not_wait_for_the_next_chunk(model: Locater) -> None:
    on_gpu = copy.deepcopy(model).cuda()
    judge = Judge(on_gpu, believing(model, ["car"], "car", 3.0), threshold=0.0)
    (plain,) = judge.over([marked(0)], None)  # kernels are loaded by then
    queue = torch.cuda.Event()  # type: ignore[no-untyped-call]
    torch.cuda._sleep(4 * 10**9)  # type: ignore[no-untyped-call]  # cycles: two seconds
    queue.record()
    (judged,) = judge.over([marked(0)], None)
    assert not queue.query()  # type: ignore[no-untyped-call]
    assert judged.score == plain.score
    torch.cuda.synchronize()


def test_looks_become_rarer_and_begin_when_something_is_marked(model: Locater, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    at = -1

    def counting(*_: object) -> Pixels:
        looked.append(at)
        return np.zeros((32, 32, 3), np.uint8)

    monkeypatch.setattr(judging, "crop_of", counting)
    judge = Judge(model, believing(model, ["car"], "car", 3.0), threshold=0.0)
    looks = None
    for at in range(40):
        each = marked(at)
        masks = each.masks.copy()
        masks[1:] = False
        masks[0] &= at >= 3  # it appears in frame 3
        (judged,) = judge.over([replace(each, masks=masks)], looks)
        looks = judged.state.looks
    assert looked == [3, 4, 8, 16, 32]
    assert looks is not None and looks[0, 2] == 5 and looks[1, 2] == 0


def test_what_is_doubted_is_looked_at_more_often_and_believed_as_soon_as_another_thing_is_marked(
    model: Locater, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Judge(model, believing(model, ["car", "flamingo"], "car", 5.0), threshold=0.0)
    shown, looked = -5.0, []

    def verdicts(result: FrameResult, _: object, chosen: list[int]) -> torch.Tensor:
        looked.append((result.frame.index, len(chosen)))
        return torch.tensor([[shown, 0.0]] * len(chosen))

    monkeypatch.setattr(judge, "_verdicts", verdicts)
    looks, is_marked = None, []
    for at in range(41):
        shown = -5.0 if at < 21 else 1.0  # something else is marked from frame 21 on
        each = marked(at)
        masks = each.masks.copy()
        masks[1:] = False
        (judged,) = judge.over([replace(each, masks=masks)], looks)
        looks = judged.state.looks
        is_marked.append(bool(judged.masks[0].any()))
    assert looked == [(at, 1) for at in (0, 1, 2, 4, 8, 12, 16, 20, 24, 32)]
    assert is_marked == [False] * 24 + [True] * 17
    assert looks is not None and looks[0].tolist() == [1.0, 0.0, 2.0]


def test_a_look_that_is_not_clear_is_one_among_others(model: Locater, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(model, believing(model, ["car"], "car", 5.0), threshold=0.0)
    verdicts = iter([-6.0, -0.5])
    monkeypatch.setattr(judge, "_verdicts", lambda *_: torch.tensor([[next(verdicts), 0.0]]))
    looks = None
    for at in range(2):
        each = marked(at)
        masks = each.masks.copy()
        masks[1:] = False
        (judged,) = judge.over([replace(each, masks=masks)], looks)
        looks = judged.state.looks
    assert looks is not None and looks[0].tolist() == [-3.25, 0.0, 2.0]


def test_a_video_that_goes_on_has_the_same_scores(model: Locater, tmp_path: Path) -> None:
    look = believing(model, ["car", "flamingo"], "car", 3.0)
    segmenter = Segmenter(model, "cpu", second_look=look)
    generator = np.random.default_rng(0)
    frames = list(generator.integers(0, 256, (11, 40, 48, 3), dtype=np.uint8))
    whole = list(segmenter.segment(frames, list(SENTENCES[:2]), threshold=0.2))
    assert whole[-1].state.looks is not None
    for result_ in whole:
        if result_.frame.index == 5:
            result_.state.save(tmp_path / "state.safetensors")
    rest = list(
        segmenter.segment(
            frames, list(SENTENCES[:2]), threshold=0.2, state=VideoState.load(tmp_path / "state.safetensors")
        )
    )
    assert [each.score for each in rest] == [each.score for each in whole[6:]]
    assert all(np.array_equal(a.masks, b.masks) for a, b in zip(rest, whole[6:], strict=True))


def test_it_travels_with_its_checkpoint(model: Locater, tmp_path: Path) -> None:
    look = believing(model, ["car"], "car", 3.0)
    save_pretrained(model, tmp_path / "with", second_look=look)
    save_pretrained(model, tmp_path / "without")
    again = Segmenter.from_pretrained(tmp_path / "with", "cpu")
    assert again.second_look is not None
    for name, tensor in look.state_dict().items():
        assert torch.equal(again.second_look.state_dict()[name], tensor.half().float()), name
    frames = [np.zeros((32, 32, 3), np.uint8)]
    plain = Segmenter.from_pretrained(tmp_path / "without", "cpu")
    (unscored,) = plain.segment(frames, "the car")
    assert unscored.score is None and unscored.confidence == unscored.presence
    with pytest.raises(LocaterError, match="no calibrated score"):
        plain.segment(frames, "the car", threshold=0.5)
    with pytest.raises(LocaterError, match="between 0 and 1"):
        again.segment(frames, "the car", threshold=1.5)
    (tmp_path / "with" / "second_look.safetensors").write_bytes(b"damaged")
    with pytest.raises(LocaterError, match="damaged"):
        load_second_look(tmp_path / "with")
