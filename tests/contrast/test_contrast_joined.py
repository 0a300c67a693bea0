"""Samples joined while they are read: frames as the joiners give them, and the truth where the query lies."""

import numpy as np
import pytest

from locater.contrast.joined import one_after_the_other, side_by_side
from locater.errors import LocaterError
from locater.records import Sample, SampleInfo, VideoInfo
from locater.video.array_source import ArraySequence

ASKED = SampleInfo("joined", "joined", "the query")


def sample(name: str, count: int, height: int, width: int, annotated: list[int]) -> Sample:
    """Pictures as bright as their place, with a box in the annotated ones."""
    pictures = [np.full((height, width, 3), index, np.uint8) for index in range(count)]
    mask = np.zeros((height, width), np.bool_)
    mask[2:8, 3:9] = True
    return Sample(SampleInfo(name, name, ""), ArraySequence(pictures, 10.0), dict.fromkeys(annotated, mask))


@pytest.mark.parametrize("query_first", [True, False])
def test_side_by_side(query_first: bool) -> None:
    query = sample("query", 4, 20, 30, [0, 3])
    joined = side_by_side(ASKED, query, sample("other", 2, 40, 20, [0]), query_first)
    info, frames = joined.frames.info, list(joined.frames.frames())
    assert (info.name, info.width, info.height, info.frame_count, info.duration) == ("joined", 40, 20, 4, 0.4)
    assert [frame.pixels.shape for frame in frames] == [(20, 40, 3)] * 4
    assert list(joined.masks) == [0, 3]
    left = 0 if query_first else 10
    expected = np.zeros((20, 40), np.bool_)
    expected[:, left : left + 30] = query.masks[0]
    assert np.array_equal(joined.masks[3], expected)
    assert [frame.index for frame in joined.frames.frames(start=1, every=2)] == [1, 3]


@pytest.mark.parametrize("query_first", [True, False])
def test_one_after_the_other(query_first: bool) -> None:
    query = sample("query", 4, 20, 30, [0, 3])
    joined = one_after_the_other(ASKED, query, sample("other", 9, 40, 20, [0]), query_first)
    info, frames = joined.frames.info, list(joined.frames.frames())
    assert (info.width, info.height, info.frame_count, info.duration) == (30, 20, 8, 0.8)
    assert [frame.index for frame in frames] == list(range(8))
    assert {frame.pixels.shape for frame in frames} == {(20, 30, 3)}
    meant = [0, 3] if query_first else [4, 7]
    # All of the other's frames count, and nothing is meant in them.
    assert list(joined.masks) == [0, 3, 4, 5, 6, 7] if query_first else [0, 1, 2, 3, 4, 7]
    assert [index for index in joined.masks if joined.masks[index].any()] == meant
    assert np.array_equal(joined.masks[meant[0]], query.masks[0])
    assert joined.masks[meant[1] - 3].shape == (20, 30)


def test_what_cannot_be_joined_is_said() -> None:
    query = sample("query", 4, 20, 30, [0])
    silent = sample("silent", 4, 20, 30, [])
    assert isinstance(silent.frames, ArraySequence)
    silent.frames.info = VideoInfo("silent")  # as a stream's
    with pytest.raises(LocaterError, match="silent does not say its size and length"):
        _ = side_by_side(ASKED, query, silent, True).frames.info
    broken = [np.zeros((20, 30, 3), np.uint8), np.zeros((21, 30, 3), np.uint8)]
    joined = side_by_side(ASKED, query, Sample(SampleInfo("bad", "bad", ""), ArraySequence(broken, 10.0), {}), True)
    with pytest.raises(LocaterError, match="bad: "):
        list(joined.frames.frames())
