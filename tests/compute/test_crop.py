"""Where a refiner looks: the crop around a mask."""

import pytest
import torch

from locater.compute.crop import EVEN, LEAST_CELLS, crop_around

HEIGHT, WIDTH = 128, 232  # of `default`'s masks of a 16:9 video
WHOLE = (22, 40)  # cells of a frame


@pytest.mark.parametrize("box", [(60, 40, 100, 90), (0, 0, 5, 4), (200, 100, 232, 128), (0, 0, 232, 128)])
@pytest.mark.parametrize("most_cells", [100, 400])
def test_a_crop_holds_its_box_and_some_surroundings_in_few_cells(
    box: tuple[int, int, int, int], most_cells: int
) -> None:
    left, top, right, bottom = box
    crop = crop_around(torch.tensor(box).float().view(2, 2), HEIGHT, WIDTH, WHOLE, most_cells)
    assert 0 <= crop.top <= max(0, top - 2) and min(HEIGHT, bottom + 2) <= crop.bottom <= HEIGHT
    assert 0 <= crop.left <= max(0, left - 2) and min(WIDTH, right + 2) <= crop.right <= WIDTH
    assert crop.rows % EVEN == crop.columns % EVEN == 0 and min(crop.rows, crop.columns) >= LEAST_CELLS
    assert crop.rows * crop.columns <= 1.15 * most_cells  # sides are rounded


def test_what_is_small_is_seen_as_large_as_in_the_whole_frame() -> None:
    crop = crop_around(torch.tensor([[60.0, 40.0], [130.0, 90.0]]), HEIGHT, WIDTH, WHOLE, 400)
    assert abs(crop.rows / (crop.bottom - crop.top) - WHOLE[0] / HEIGHT) < EVEN / (crop.bottom - crop.top)
    assert abs(crop.columns / (crop.right - crop.left) - WHOLE[1] / WIDTH) < EVEN / (crop.right - crop.left)


def test_a_crop_is_the_same_place_in_a_frame_of_another_size() -> None:
    mask = torch.zeros(HEIGHT, WIDTH)
    mask[40:90, 60:130] = 1
    frame = torch.nn.functional.interpolate(mask[None, None], scale_factor=2.0)[0, 0]
    crop = crop_around(torch.tensor([[60.0, 40.0], [130.0, 90.0]]), HEIGHT, WIDTH, WHOLE, 400)
    top, bottom, left, right = crop.place((HEIGHT, WIDTH), (2 * HEIGHT, 2 * WIDTH))
    assert crop.of(mask).sum() == mask.sum()
    assert torch.equal(frame[top:bottom:2, left:right:2], crop.of(mask))
    assert crop.place((HEIGHT, WIDTH), (HEIGHT, WIDTH)) == (crop.top, crop.bottom, crop.left, crop.right)


def test_of_a_frame_of_few_pixels_a_crop_has_one_at_least() -> None:
    crop = crop_around(torch.tensor([[60.0, 40.0], [70.0, 44.0]]), HEIGHT, WIDTH, WHOLE, 400)
    for frame in ((1, 64), (8, 8), (128, 1)):
        top, bottom, left, right = crop.place((HEIGHT, WIDTH), frame)
        assert 0 <= top < bottom <= frame[0] and 0 <= left < right <= frame[1]
