"""What objects do, in numbers, against the claims that sentences make of them."""

import numpy as np
import pytest

from locater.worlds.batches import ClipSettings
from locater.worlds.claims import LATE_EVENTS, judge_event, judge_motion
from locater.worlds.motion_targets import EVENT, MIRROR_ORDER, MOTION_TARGETS, motion_targets
from locater.worlds.seeds import video_seed
from locater.worlds.shapes import shapes_batches
from locater.worlds.shapes.scene import sample_scene


def test_doings_agree_with_what_sentences_may_say() -> None:
    for number in range(40):
        for kind in ("motion", "late_event"):
            objects = sample_scene(video_seed("train", kind, number)).objects
            told = dict(zip(MOTION_TARGETS, motion_targets(objects).T, strict=True))
            for index in np.flatnonzero(judge_motion("moves_left", objects) == 1):
                assert told["moved_right"][index] < -0.5
            for index in np.flatnonzero(judge_motion("moves_down", objects) == 1):
                assert told["moved_down"][index] > 0.5
            for index in np.flatnonzero(judge_motion("growing", objects) == 1):
                assert told["grew"][index] > 0.5
            for event in LATE_EVENTS:
                did = judge_event(event, "late", objects) == 1
                assert (told[f"late_{event}"][did] == EVENT).all()


def test_the_mirror_of_a_mirror_is_the_video() -> None:
    assert [MIRROR_ORDER[place] for place in MIRROR_ORDER] == list(range(len(MOTION_TARGETS)))


def test_a_batch_says_at_every_place_what_the_object_there_does() -> None:
    batches = shapes_batches()
    settings = ClipSettings(clip_frames=2, global_frames=0, strides=(0,), kind_weights={"motion": 1.0})
    batch = batches.draw(batches.clips(range(3), settings), 64)
    assert batch.motion_targets is not None and batch.motion_targets.shape == (3, 2, len(MOTION_TARGETS) + 1, 8, 8)
    cover = batch.motion_targets[:, :, -1]
    assert 0.02 < cover.mean() < 0.5 and cover.max() <= 1.001
    scene = sample_scene(video_seed("train", "motion", 0))
    assert scene.referent is not None
    # Where the referent's mask fills a place, that place tells the referent's motion_targets.
    full = (batch.masks[0, 0].unfold(0, 8, 8).unfold(1, 8, 8).mean((-2, -1)) == 1).nonzero()
    if not len(full):
        pytest.skip("the referent fills no place of this frame")
    told = batch.motion_targets[0, 0, :-1, full[0, 0], full[0, 1]].numpy()
    np.testing.assert_allclose(
        told, motion_targets(scene.objects)[scene.actor_of_member.index(scene.referent)], atol=2e-2
    )
