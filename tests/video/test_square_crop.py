"""Squares cut from pictures around a thing."""

import numpy as np

from locater.video.square_crop import GREY, core_box, square_crop


def test_a_square_shows_the_box_and_grey_beyond_the_picture() -> None:
    pixels = np.zeros((40, 60, 3), np.uint8)
    pixels[10:30, 0:20] = (200, 100, 50)
    square = square_crop(pixels, (0, 10, 20, 30), 40, grown=2.0)  # 40 x 40 pixels around (10, 20): 10 of them outside
    assert square.shape == (40, 40, 3)
    assert (square[:, :9] == GREY).all() and (square[0:9, 12:] == 0).all()
    assert (square[12:28, 12:28] == (200, 100, 50)).all()


def test_a_squashed_picture_is_brought_back_to_its_own_shape() -> None:
    upright = np.zeros((60, 120, 3), np.uint8)
    upright[20:40, 40:80] = 255
    squashed = upright[:, ::2]  # every second column: its pixels stand for two
    box = (20.0, 20.0, 40.0, 40.0)
    own = square_crop(upright, (40.0, 20.0, 80.0, 40.0), 80, grown=1.0)
    again = square_crop(squashed, box, 80, pixel_aspect=2.0, grown=1.0)
    assert np.abs(own.astype(int) - again.astype(int)).mean() < 4
    assert own[40, 2:78].min() > 250 and own[:15].max() < 5  # a square around a wide thing


def test_specks_do_not_widen_the_box() -> None:
    mask = np.zeros((100, 100), np.bool_)
    mask[30:60, 40:80] = True
    assert core_box(mask) == (40, 30, 80, 60)
    mask[2, 97] = True
    assert core_box(mask) == (40, 30, 80, 60)
    lone = np.zeros((10, 10), np.bool_)
    lone[3, 4] = True
    assert core_box(lone) == (4, 3, 5, 4)
