"""Resizing: the same numbers in any company, and the filters that the paper and Pillow use."""

import numpy as np
import pytest
import torch
from PIL import Image

from locater.records import Frame
from locater.video.transforms import frame_times, frames_to_tensor, resize_soft
from tests.support.making_videos import picture


@pytest.mark.parametrize(("width", "height", "size"), [(96, 64, 32), (33, 57, 48), (400, 300, 64), (20, 20, 20)])
def test_a_frame_does_not_depend_on_its_company(width: int, height: int, size: int) -> None:
    frames = [picture(index, width, height) for index in range(9)]
    together = frames_to_tensor(frames, (size, size))
    assert together.shape == (9, 3, size, size)
    assert together.dtype == torch.float32
    assert together.min() >= 0
    assert together.max() <= 1
    for index, frame in enumerate(frames):
        assert torch.equal(together[index], frames_to_tensor([frame], (size, size))[0])
    assert torch.equal(together[2:7], frames_to_tensor(frames[2:7], (size, size)))


def test_values_are_pillows_antialiased_bilinear() -> None:
    frame = picture(1, 300, 200)
    expected = np.asarray(Image.fromarray(frame).resize((64, 64), Image.Resampling.BILINEAR)) / 255
    ours = frames_to_tensor([frame], (64, 64))[0].permute(1, 2, 0).numpy()
    np.testing.assert_allclose(ours, expected, atol=1.5 / 255)


def test_white_stays_white_and_read_only_frames_are_left_alone() -> None:
    white = np.full((37, 91, 3), 255, dtype=np.uint8)
    white.flags.writeable = False
    assert torch.allclose(frames_to_tensor([white], (32, 48)), torch.ones(1, 3, 32, 48))
    assert frames_to_tensor([], (32, 32)).shape == (0, 3, 32, 32)


def test_resize_soft_is_bilinear_without_aligned_corners() -> None:
    soft = torch.tensor([[[0.0, 1.0]]])
    assert resize_soft(soft, 1, 4)[0, 0].tolist() == pytest.approx([0, 0.25, 0.75, 1])
    assert resize_soft(torch.rand(3, 8, 8), 30, 50).shape == (3, 30, 50)


def test_a_frames_time_is_its_seconds_and_how_much_of_the_video_is_over() -> None:
    frames = [Frame(index, seconds, picture(index, 8, 8)) for index, seconds in enumerate((0.0, 1.5, 6.5))]
    assert frame_times(frames, 6.0).tolist() == [[0.0, 0.0], [1.5, 0.25], [6.5, 1.0]]
    assert frame_times(frames, None).tolist() == [[0.0, -1.0], [1.5, -1.0], [6.5, -1.0]]  # a stream's end is unknown
