"""What is saved of an unfinished video: the same masks again, whole parts only, and one chain of them."""

from pathlib import Path

import numpy as np
import pytest

from locater.batch.parts import SavedFrame, SavedVideo, only, saved_frames
from locater.video.array_source import ArraySequence
from locater.video.writers.pictures import indexed
from tests.support.making_videos import moving_masks, picture, result


@pytest.mark.parametrize("has_soft_masks", [True, False])
def test_a_saved_frame_gives_the_same_masks_and_the_same_indexed_picture(has_soft_masks: bool) -> None:
    masks = moving_masks(3)
    assert (masks[0] & masks[1]).any()
    soft = np.random.default_rng(0).random(masks.shape, dtype=np.float32) if has_soft_masks else None
    kept = result(3, masks, soft=soft)
    again = SavedFrame.model_validate_json(SavedFrame.of(kept).model_dump_json()).over(kept.frame)
    assert np.array_equal(again.masks, masks) and again.confidence == kept.confidence
    assert np.array_equal(indexed(again), indexed(kept))
    assert (again.soft_masks is None) == (soft is None)
    apart = result(3, moving_masks(3) & [[[True]], [[False]]], soft=soft)
    assert np.array_equal(indexed(SavedFrame.of(apart).over(apart.frame)), indexed(apart))


def test_parts_follow_each_other_and_the_state_is_of_the_last(tmp_path: Path) -> None:
    results = [result(index, moving_masks(index)) for index in range(5)]
    saved = SavedVideo(tmp_path / "work" / "key", every=0)
    assert saved.frames == 0
    for each in results[:3]:
        saved.take(each)
    assert sorted(path.name for path in (tmp_path / "work" / "key").iterdir()) == ["0-1", "1-2", "2-3"]
    late = SavedVideo(tmp_path / "work" / "key", every=60)
    for each in results[3:]:
        late.take(each)
    source = ArraySequence([picture(index, 96, 64) for index in range(5)], 24)
    again = SavedVideo(tmp_path / "work" / "key", every=0)
    assert again.frames == saved_frames(tmp_path / "work") == 3
    before = again.before(source)
    assert before is not None and before.state.frame_index == 3
    for frame, expected in zip(before.results, results[:3], strict=True):
        assert np.array_equal(frame.masks, expected.masks) and frame.frame.index == expected.frame.index


def test_a_worker_that_was_taken_for_lost_leaves_parts_that_are_passed_over(tmp_path: Path) -> None:
    for name in ("0-8", "0-6", "6-30", "8-16", "20-40", "8-12", "0-x", ".0-99.abcdefgh.partial"):
        (tmp_path / "work" / "key" / name).mkdir(parents=True)
    assert SavedVideo(tmp_path / "work" / "key", every=0).frames == 30


def test_what_was_saved_of_other_content_is_removed(tmp_path: Path) -> None:
    (tmp_path / "work" / "old" / "0-8").mkdir(parents=True)
    (tmp_path / "work" / "new" / "0-4").mkdir(parents=True)
    assert saved_frames(tmp_path / "work") == 8
    assert only(tmp_path / "work", "new") == tmp_path / "work" / "new"
    assert saved_frames(tmp_path / "work") == 4
