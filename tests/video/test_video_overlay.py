"""What people look at: tints, contours, legends and the contact sheet."""

import numpy as np
import pytest
from PIL import Image

from locater.video.overlay import DAVIS_PALETTE, ContactSheet, captioned, clock_text, colour_of, draw
from tests.support.making_videos import moving_masks, picture


def test_palette_is_the_standard_one() -> None:
    expected = [(0, 0, 0), (128, 0, 0), (0, 128, 0), (128, 128, 0), (0, 0, 128), (128, 0, 128), (0, 128, 128)]
    assert DAVIS_PALETTE.shape == (256, 3)
    assert [tuple(colour) for colour in DAVIS_PALETTE[:7].tolist()] == expected
    assert DAVIS_PALETTE[8].tolist() == [64, 0, 0]
    assert DAVIS_PALETTE[255].tolist() == [224, 224, 192]
    assert len(np.unique(DAVIS_PALETTE, axis=0)) == 256


def test_expressions_have_different_colours() -> None:
    assert len({colour_of(number) for number in range(12)}) == 12
    assert colour_of(0) == (255, 0, 0)
    assert colour_of(1000)


@pytest.mark.parametrize("shade", [0, 128, 255])
def test_mask_is_tinted_and_outlined_and_the_rest_untouched(shade: int) -> None:
    pixels = np.full((200, 300, 3), shade, dtype=np.uint8)
    mask = np.zeros((1, 200, 300), dtype=np.bool_)
    mask[0, 50:150, 100:200] = True
    drawn = draw(pixels, mask)
    assert (pixels == shade).all(), "the frame itself is not drawn on"
    near = np.zeros((200, 300), dtype=np.bool_)
    near[48:152, 98:202] = True
    assert (drawn[~near] == shade).all()
    assert drawn[50, 150].tolist() == [255, 0, 0]  # the contour
    inside = drawn[100, 150].astype(int)
    assert inside[0] > inside[1]  # the tint
    rim = drawn[49, 150].astype(int)
    assert np.abs(rim - (255, 0, 0)).max() > 200  # the line stands out whatever the video's shade


def test_empty_full_and_border_masks() -> None:
    pixels = picture(0)
    np.testing.assert_array_equal(draw(pixels, np.zeros((2, 64, 96), dtype=np.bool_)), pixels)
    np.testing.assert_array_equal(draw(pixels, np.zeros((0, 64, 96), dtype=np.bool_)), pixels)
    assert draw(pixels, np.ones((1, 64, 96), dtype=np.bool_)).shape == pixels.shape
    corner = np.zeros((1, 64, 96), dtype=np.bool_)
    corner[0, 0, 0] = corner[0, 63, 95] = True
    draw(pixels, corner)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (16, 16), (96, 64), (640, 360)])
@pytest.mark.parametrize(
    "names",
    [
        ("the dog",),
        ("a" * 500, "犬 🐕 собака الكلب\n\t\x00", "\ud800 lone", ""),
        tuple(f"object {n}" for n in range(40)),
    ],
)
def test_legend_never_crashes_and_is_below_the_picture(width: int, height: int, names: tuple[str, ...]) -> None:
    shown = picture(0, width, height)
    drawn = captioned(shown, names)
    np.testing.assert_array_equal(drawn[:height], shown)
    assert drawn.shape[1:] == (width, 3) and drawn.dtype == np.uint8
    assert drawn.shape[0] % 2 == 0 and height < drawn.shape[0] <= max(2 * height, height + 34)


def test_legend_shows_each_colour() -> None:
    drawn = captioned(np.full((360, 640, 3), 90, dtype=np.uint8), ("the dog", "the cat", "the bird"), first=1)
    for number in (1, 2, 3):
        assert (drawn[360:] == colour_of(number)).all(axis=2).sum() > 50
    assert not (drawn[360:] == colour_of(0)).all(axis=2).any()


def test_a_long_sentence_takes_more_lines() -> None:
    shown = np.zeros((360, 320, 3), dtype=np.uint8)
    short, long, longest = (
        captioned(shown, [text]).shape[0] for text in ("the dog", "the dog on the left " * 4, "the dog " * 90)
    )
    assert short < long <= longest < short + 60


def shown_times(sheet: ContactSheet) -> list[float]:
    return [time for time, _ in sheet._chosen()]


@pytest.mark.parametrize("count", [1, 3, 12, 13, 1000])
def test_contact_sheet_is_even_and_small_whatever_the_length(count: int) -> None:
    sheet = ContactSheet("a title — 題", columns=4, rows=3, thumbnail_side=80)
    most_kept = 0
    for index in range(count):
        sheet.add(picture(index), index / 24)
        most_kept = max(most_kept, len(sheet._kept))
    assert most_kept <= 4 * 12
    times = shown_times(sheet)
    assert len(times) == min(count, 12)
    assert times[0] == 0
    gaps = np.diff(times)
    if count > 1:
        assert gaps.max() <= 2 * gaps.min() + 1e-9
        assert times[-1] > 0.9 * (count - 1) / 24
    image = sheet.image()
    columns, rows = min(count, 4), -(-min(count, 12) // 4)
    assert image.width == 10 + columns * 90
    assert image.height > rows * 53


def test_skipped_frames_count() -> None:
    sheet, all_given = ContactSheet(columns=2, rows=1), ContactSheet(columns=2, rows=1)
    for index in range(100):
        all_given.add(picture(index), index)
        if sheet.is_next_kept:
            sheet.add(picture(index), index)
        else:
            sheet.skip()
    assert shown_times(sheet) == shown_times(all_given)


def test_sheet_shows_the_pictures_and_survives_none() -> None:
    sheet = ContactSheet(columns=2, rows=2, thumbnail_side=96)
    for index in range(4):
        sheet.add(draw(picture(index), moving_masks(index)), index)
    assert isinstance(sheet.image(), Image.Image)
    whole = np.asarray(sheet.image())
    np.testing.assert_array_equal(whole[10 : 10 + 64, 10 : 10 + 96], draw(picture(0), moving_masks(0)))
    assert ContactSheet("nothing").image().width > 0


def test_clock_text() -> None:
    assert [clock_text(value) for value in (0, 7.25, 59.999, 3727.5)] == ["0:00.00", "0:07.25", "1:00.00", "1:02:07.50"]
