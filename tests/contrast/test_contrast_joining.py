"""Two videos as one: what lies where, what is repeated or cut, and that neither is held."""

from collections.abc import Iterator

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from locater.contrast.joining import (
    BrokenSourceError,
    Half,
    OneAfterTheOther,
    SideBySide,
    evenly_spaced,
)
from locater.records import Frame, Pixels, Sample, SampleInfo, VideoInfo
from locater.video.array_source import ArraySequence


def video(name: str, count: int, height: int, width: int, first: int, rate: float = 10.0) -> Sample:
    """Plain pictures, each as bright as its place."""
    pictures = [np.full((height, width, 3), first + index, np.uint8) for index in range(count)]
    return Sample(SampleInfo(name, name, ""), ArraySequence(pictures, rate), {})


def test_side_by_side() -> None:
    query, contrast = video("q", 5, 20, 30, 0), video("c", 3, 40, 20, 100)
    joint = SideBySide(query, contrast, query_first=True)
    frames = list(joint.frames())
    assert [frame.pixels.shape for frame in frames] == [(20, 40, 3)] * 5
    assert [frame.pixels[0, 0, 0] for frame in frames] == [0, 1, 2, 3, 4]
    assert [frame.pixels[0, -1, 0] for frame in frames] == [100, 101, 102, 102, 102]  # the last one is held
    assert [frame.timestamp for frame in frames] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert joint.halves == {"query": Half(0, 0, 30, 20, 0, 5), "contrast": Half(30, 0, 10, 20, 0, 5, 2)}
    mask = np.ones((20, 30), np.bool_)
    placed = joint.halves["query"].place(mask, 20, 40)
    assert placed[:, :30].all() and not placed[:, 30:].any()
    turned = SideBySide(query, contrast, query_first=False)
    assert [frame.pixels[0, -1, 0] for frame in turned.frames()] == [0, 1, 2, 3, 4]
    assert turned.halves["query"].left == 10 and turned.halves["contrast"].left == 0


@pytest.mark.parametrize("query_first", [True, False])
def test_one_after_the_other(query_first: bool) -> None:
    query, contrast = video("q", 4, 20, 30, 0), video("c", 9, 40, 20, 100, rate=50.0)
    joint = OneAfterTheOther(query, contrast, query_first)
    frames = list(joint.frames())
    assert [frame.index for frame in frames] == list(range(8))
    assert {frame.pixels.shape for frame in frames} == {(20, 30, 3)}
    halves = [0, 1, 2, 3], [100, 101, 102, 103]  # the contrast is cut
    expected = [*halves[0], *halves[1]] if query_first else [*halves[1], *halves[0]]
    assert [frame.pixels[5, 5, 0] for frame in frames] == expected
    assert [frame.timestamp for frame in frames] == pytest.approx([index / 10 for index in range(8)])
    first = 0 if query_first else 4
    assert joint.halves == {"query": Half(0, 0, 30, 20, first, 4), "contrast": Half(0, 0, 30, 20, 4 - first, 4)}
    padded = OneAfterTheOther(query, video("c", 1, 5, 5, 100), query_first)
    assert len(list(padded.frames())) == 8 and padded.halves["contrast"].padded_frames == 3


def test_a_mask_of_another_size_is_fitted() -> None:
    mask = np.zeros((10, 10), np.bool_)
    mask[:, :5] = True
    placed = Half(4, 0, 20, 30, 0, 1).place(mask, 30, 24)
    assert placed[:, 4:14].all() and placed.sum() == 300


class Breaking(ArraySequence):
    """A video whose third frame cannot be read."""

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        for frame in super().frames(start, every):
            if frame.index == 2:
                raise RuntimeError("a bad sector")
            yield frame


def test_a_source_that_breaks_is_named() -> None:
    broken = Sample(SampleInfo("b", "bad", ""), Breaking(np.zeros((5, 8, 8, 3), np.uint8), 10.0), {})
    with pytest.raises(BrokenSourceError, match="bad: RuntimeError: a bad sector"):
        list(SideBySide(video("q", 5, 8, 8, 0), broken, True).frames())


@given(st.integers(1, 50), st.integers(0, 100), st.integers(0, 500))
def test_evenly_spaced_frames(count: int, first: int, more: int) -> None:
    length = count + more
    frames = evenly_spaced(count, first, length)
    assert len(set(frames)) == count and frames == sorted(frames)
    assert first <= frames[0] and frames[-1] < first + length
    steps = np.diff(frames)
    assert count == 1 or steps.max() - steps.min() <= 1
    assert abs((frames[0] - first) - (first + length - 1 - frames[-1])) <= 1


class Drawn:
    """A long video that is drawn as it is read: 1,000 frames of 0.7 MB."""

    is_repeatable = True
    info = VideoInfo("long", 640, 360, 1000, 25.0)

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        for index in range(start, 1000, every):
            yield Frame(index, index / 25, self._picture(index))

    def _picture(self, index: int) -> Pixels:
        return np.full((360, 640, 3), index % 256, np.uint8)


@pytest.mark.parametrize("joint", [SideBySide, OneAfterTheOther])
def test_memory_stays_flat(joint: type[SideBySide] | type[OneAfterTheOther]) -> None:
    query = Sample(SampleInfo("q", "q", ""), Drawn(), {})
    contrast = Sample(SampleInfo("c", "c", ""), Drawn(), {})
    process = psutil.Process()
    resident: dict[int, int] = {}
    for frame in joint(query, contrast, True).frames():
        if frame.index % 100 == 0:
            resident[frame.index] = process.memory_info().rss
    assert len(resident) == (10 if joint is SideBySide else 20)
    # Both held whole would be 1,400 MB.
    assert max(resident.values()) - resident[100] < 30e6, {index: size // 10**6 for index, size in resident.items()}
