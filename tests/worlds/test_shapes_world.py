"""The world as a dataset and as a source of training batches."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from locater.errors import LocaterError
from locater.records import Batch, Dataset, FrameSource, SampleInfo
from locater.worlds.batches import ClipSettings
from locater.worlds.shapes import KINDS, ShapesWorld, shapes_batches, video_seed

BATCHES = shapes_batches()


def drawn(numbers: Sequence[int], size: int, settings: ClipSettings) -> Batch:
    return BATCHES.draw(BATCHES.clips(numbers, settings), size)


def test_samples_are_balanced_over_kinds_and_keyed_by_seed() -> None:
    world: Dataset = ShapesWorld("test", count=27, size=32)
    infos = world.samples()
    assert world.name == "shapes-test"
    assert Counter(info.kind for info in infos) == dict.fromkeys(KINDS, 3)
    assert len({info.key for info in infos}) == 27
    assert infos[4].key == "test/motion/000000" and infos[13].key == "test/motion/000001"
    fewer = ShapesWorld("test", count=3, size=32, kinds=["motion"])
    assert fewer.samples()[1] == infos[13]  # a video does not depend on the world that lists it


def test_loading_draws_only_what_is_asked_for() -> None:
    world = ShapesWorld("validation", count=9, size=48)
    for info in world.samples():
        sample = world.load(info)
        source = sample.frames
        assert isinstance(source, FrameSource) and source.is_repeatable
        assert (source.info.width, source.info.frame_count, source.info.duration) == (48, 32, 4.0)
        whole = list(source.frames())
        some = list(source.frames(start=5, every=9))
        assert [frame.index for frame in some] == [5, 14, 23]
        assert whole[14].pixels.shape == (48, 48, 3) and whole[14].timestamp == 14 / 8
        np.testing.assert_array_equal(some[1].pixels, whole[14].pixels)
        assert list(sample.masks) == list(range(32)) and sample.masks[0].shape == (48, 48)
        total = sum(int(mask.sum()) for mask in sample.masks.values())
        assert (total == 0) == (info.kind == "absent")
        with pytest.raises(KeyError):
            sample.masks[32]


def test_an_mp4_s_worth_of_sentences_on_one_video() -> None:
    world = ShapesWorld(size=32)
    seed = video_seed("test", "late_event", 7)
    video = world.video(seed)
    questions = world.expressions_for(seed)
    assert questions[0].kind == "late_event"
    for question in questions:
        assert any(mask.any() for mask in video.masks(question.referent).values())


def test_wrong_names_are_refused_in_a_sentence() -> None:
    with pytest.raises(LocaterError, match="no split"):
        ShapesWorld("training", count=1)
    with pytest.raises(LocaterError, match="no kind"):
        ShapesWorld("test", count=1, kinds=["colour"])
    with pytest.raises(LocaterError, match="at least one"):
        ShapesWorld("test", kinds=[])
    with pytest.raises(LocaterError, match="no key"):
        ShapesWorld("test", count=1).load(SampleInfo(key="cats", video="", expression=""))
    with pytest.raises(LocaterError, match="no kind"):
        BATCHES.clips([0], ClipSettings(clip_frames=2, global_frames=2, kind_weights={"colour": 1.0}))
    with pytest.raises(LocaterError, match="smaller stride"):
        BATCHES.clips([0], ClipSettings(clip_frames=9, global_frames=2, strides=(4,)))


def test_a_batch_holds_clip_whole_video_and_times() -> None:
    batch = drawn(range(6), 32, ClipSettings(5, 8, strides=(2,)))
    assert batch.frames.shape == (6, 5, 3, 32, 32) and batch.global_frames.shape == (6, 8, 3, 32, 32)
    assert batch.masks.shape == (6, 5, 32, 32) and bool(((batch.masks == 0) | (batch.masks == 1)).all())
    assert batch.is_annotated.all() and len(batch.expressions) == 6
    torch.testing.assert_close(batch.times[:, 1:, 0] - batch.times[:, :-1, 0], torch.full((6, 4), 0.25))
    torch.testing.assert_close(batch.global_times[0, :, 0], torch.arange(8) * 0.5)
    torch.testing.assert_close(batch.global_times[..., 1], batch.global_times[..., 0] / 4.0)
    starts = drawn(range(60), 8, ClipSettings(5, 1, strides=(2,))).times[:, 0, 1]
    assert starts.min() < 0.1 and starts.max() > 0.6


def test_a_batch_row_depends_on_its_own_seed_alone() -> None:
    together = drawn([11, 12, 13], 32, ClipSettings(3, 2))
    alone = drawn([13], 32, ClipSettings(3, 2))
    assert together.expressions[2] == alone.expressions[0]
    assert torch.equal(together.frames[2], alone.frames[0]) and torch.equal(together.masks[2], alone.masks[0])
    assert torch.equal(together.times[2], alone.times[0])


def test_kinds_follow_their_weights_and_absent_masks_are_empty() -> None:
    absent = drawn(range(8), 32, ClipSettings(2, 1, kind_weights={"absent": 1.0}))
    assert not absent.masks.any()
    present = drawn(range(8), 32, ClipSettings(2, 1, kind_weights={"size": 1.0, "absent": 0.0}))
    assert present.masks.flatten(1).any(1).all()


def test_a_clip_can_cover_the_video_and_agrees_with_the_dataset() -> None:
    plan = BATCHES.clips([0, 1], ClipSettings(4, 4, strides=(0,), kind_weights={"motion": 1.0}, split="test"))
    batch = BATCHES.draw(plan, 32)
    assert torch.equal(plan.indices[:, 1:4] - plan.indices[:, :3], torch.full((2, 3), 8))
    world = ShapesWorld("test", count=2, size=32, kinds=["motion"])
    for row, info in enumerate(world.samples()):
        sample = world.load(info)
        assert batch.expressions[row] == info.expression
        for column, frame in enumerate(sample.frames.frames(start=int(plan.indices[row, 0]), every=8)):
            np.testing.assert_array_equal(batch.masks[row, column].bool().numpy(), sample.masks[frame.index])
            image = (batch.frames[row, column].permute(1, 2, 0) * 255).round().to(torch.uint8)
            np.testing.assert_array_equal(image.numpy(), frame.pixels)


def test_strides_are_drawn_and_whole_videos_are_what_inference_sees() -> None:
    times = drawn(range(40), 8, ClipSettings(3, 1, strides=(1, 2, 0))).times[..., 0]
    gaps = {round(float(gap) * 8) for gap in times[:, 1] - times[:, 0]}
    assert gaps == {1, 2, 10}  # a third of 32 frames, for the clip that covers the video
    plan = BATCHES.whole_videos("late_event", [0, 3], "test", interval=4)
    assert plan.indices[0].tolist() == [*range(32), *range(0, 32, 4)] and plan.clip_frames == 32
    world = ShapesWorld("test", count=4, kinds=["late_event"])
    assert plan.expressions == tuple(world.samples()[number].expression for number in (0, 3))
