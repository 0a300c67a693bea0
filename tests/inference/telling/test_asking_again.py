"""Asking again with the first answer painted over."""

import numpy as np
import pytest

import locater
from locater.inference.averaged_views import PLAIN
from locater.inference.telling.asking_again import FRAMES, SIDE, AskingAgain, painted_over
from locater.records import Frame, FrameMasks, FrameSource, VideoInfo
from locater.worlds.failures.shapes import ShapesFailures


def masks_of(pixels: np.ndarray, masks: np.ndarray, index: int = 0) -> FrameMasks:
    return FrameMasks(Frame(index, index / 8, pixels), masks, None, (1.0,) * len(masks))


def test_a_hole_is_filled_from_around_it_and_nothing_else_changes() -> None:
    pixels = np.full((37, 50, 3), (20, 120, 220), np.uint8)
    pixels[:, 25:] = (200, 40, 90)
    hole = np.zeros((37, 50), np.bool_)
    hole[5:15, 5:15] = hole[20:30, 35:45] = True
    spoilt = pixels.copy()
    spoilt[hole] = 255
    assert np.abs(painted_over(spoilt, hole).astype(int) - pixels).max() <= 1
    speckled = np.random.default_rng(0).integers(0, 255, (37, 50, 3), dtype=np.uint8)
    assert np.array_equal(painted_over(speckled, hole)[~hole], speckled[~hole])
    assert painted_over(speckled, np.ones_like(hole)).shape == speckled.shape


def test_what_is_kept_of_a_long_and_large_video_is_bounded() -> None:
    again = AskingAgain()
    for index in range(500):
        again.take(masks_of(np.zeros((60, 2 * SIDE, 3), np.uint8), np.zeros((1, 60, 2 * SIDE), np.bool_), index))
    assert FRAMES <= len(again._kept) < 2 * FRAMES
    times = np.diff([frame.timestamp for frame, _ in again._kept])
    assert np.allclose(times, times[0]) and all(max(frame.pixels.shape) == SIDE for frame, _ in again._kept)


@pytest.mark.parametrize(("kind", "is_two"), [("ambiguity", True), ("reflection", False)])
def test_a_second_thing_that_fits_is_found_and_a_thing_alone_is_not(kind: str, is_two: bool) -> None:
    """Scenes whose first answer is right, by the shipped network: whether it then says two is what is tested."""
    world = ShapesFailures("test", 2)
    info = next(each for each in world.samples() if each.kind == kind and each.expression in SENTENCES)
    segmenter = locater.load("shapes", "cpu", "float32")
    source = world.load(info).frames
    again = AskingAgain()
    marked = 0
    for result in segmenter.segment(source, info.expression, mode="file"):
        again.take(result)
        marked += int(result.masks.sum())
    assert marked > 0
    assert again.fits_second(segmenter, info.expression, 0, source.info, PLAIN) is is_two


SENTENCES = ("a red triangle", "the pink star closest to the top")


def test_of_nothing_found_nothing_is_asked() -> None:
    again = AskingAgain()
    again.take(masks_of(np.zeros((8, 8, 3), np.uint8), np.zeros((1, 8, 8), np.bool_)))
    assert not again.fits_second(None, "the dog", 0, VideoInfo("none"), PLAIN)  # type: ignore[arg-type]


def test_it_is_asked_with_the_threshold_of_the_first_time() -> None:
    again, asked = AskingAgain(), []
    mask = np.zeros((1, 8, 8), np.bool_)
    mask[:, 2:4, 2:4] = True
    again.take(masks_of(np.zeros((8, 8, 3), np.uint8), mask))

    class Noting:
        def segment(self, source: FrameSource, _: str, *, threshold: float | None, **__: object) -> list[FrameMasks]:
            asked.append(threshold)
            return [masks_of(frame.pixels, np.zeros((1, 8, 8), np.bool_)) for frame in source.frames()]

    assert not again.fits_second(Noting(), "the dog", 0, VideoInfo("none"), PLAIN, 0.7)  # type: ignore[arg-type]
    assert asked == [0.7]
