"""Pictures that a program already has: Pillow images, lists of files, tensors."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from locater.errors import LocaterError
from locater.records import Frame
from locater.video.array_source import kept_if_small
from locater.video.reader import open_source
from tests.support.making_videos import picture

DOCUMENT = Path(__file__).parents[2] / "docs" / "sources.md"
PICTURES = np.stack([picture(index) for index in range(4)])


def test_the_documents_example_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert len(names["track"]) == 3 and names["track"].timestamps[2] == pytest.approx(2 / 30)
    assert names["picture"].shape == (120, 160)


def pixels(source: object) -> list[np.ndarray[tuple[int, ...], np.dtype[np.uint8]]]:
    return [frame.pixels for frame in open_source(source).frames()]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.from_numpy(PICTURES),
        torch.from_numpy(PICTURES).permute(0, 3, 1, 2),
        torch.from_numpy(PICTURES).float() / 255,
        (torch.from_numpy(PICTURES).permute(0, 3, 1, 2).double() / 255).requires_grad_(),
        list(torch.from_numpy(PICTURES).permute(0, 3, 1, 2)),
    ],
    ids=["uint8", "uint8, channels first", "float", "float, channels first, with a gradient", "a list of tensors"],
)
def test_a_tensor_is_its_pictures(tensor: object) -> None:
    np.testing.assert_array_equal(np.stack(pixels(tensor)), PICTURES)


def test_a_half_precision_tensor_is_near() -> None:
    half = (torch.from_numpy(PICTURES).float() / 255).to(torch.bfloat16)
    assert np.abs(np.stack(pixels(half)).astype(int) - PICTURES).max() <= 1


@pytest.mark.parametrize(
    ("tensor", "told"),
    [
        (torch.zeros(3, 8, 9), "One picture was given where a video is expected"),
        (torch.zeros(2, 3, 8, 9) + 255, "floats outside 0 to 1"),
        (torch.full((2, 3, 8, 9), float("nan")), "floats outside 0 to 1"),
        (torch.zeros(2, 3, 8, 3), "with 3 at both ends"),
        (torch.zeros(2, 4, 8, 9), "has the shape (4, 8, 9)"),
        (torch.zeros(0, 3, 8, 9), "is empty"),
        (torch.zeros(2, 3, 8, 9, dtype=torch.int64), "holds int64 values"),
    ],
)
def test_tensors_that_are_no_video(tensor: torch.Tensor, told: str) -> None:
    with pytest.raises(LocaterError) as error:
        pixels(tensor)
    assert told in str(error.value)


def test_pillow_images_of_any_kind() -> None:
    image = Image.fromarray(PICTURES[0])
    np.testing.assert_array_equal(pixels(image)[0], PICTURES[0])
    assert len(pixels(image)) == 1
    np.testing.assert_array_equal(pixels([image.convert("RGBA"), Image.fromarray(PICTURES[1])])[1], PICTURES[1])
    turned = image.copy()
    turned.getexif()[0x0112] = 3  # upside down, as a phone says it
    np.testing.assert_array_equal(pixels(turned)[0], PICTURES[0][::-1, ::-1])


def test_a_list_of_files_keeps_its_own_order(tmp_path: Path) -> None:
    paths = []
    for index in (2, 0, 3):
        paths.append(tmp_path / f"{index}.png")
        Image.fromarray(PICTURES[index]).save(paths[-1])
    np.testing.assert_array_equal(np.stack(pixels(paths)), PICTURES[[2, 0, 3]])
    np.testing.assert_array_equal(np.stack(pixels([str(path) for path in paths])), PICTURES[[2, 0, 3]])
    with pytest.raises(LocaterError, match="give each video by itself"):
        open_source(["a.mp4", "b.mp4"])
    with pytest.raises(LocaterError, match="is missing"):
        open_source([paths[0], tmp_path / "none.png"])
    with pytest.raises(LocaterError, match="is an address"):
        open_source("https://example.org/clip.mp4")


# ---- Frames that are kept once they are decoded ----------------------------------------------------------------------


class Counted:
    """A source that counts how often it is read."""

    is_repeatable = True

    def __init__(self, frame_count: int | None) -> None:
        self._frames = open_source(list(PICTURES))
        self.info = replace(self._frames.info, frame_count=frame_count, path=Path("clip.mp4"))
        self.readings = 0

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        self.readings += 1
        return self._frames.frames(start, every)


def test_a_small_video_is_decoded_once_for_any_number_of_readings() -> None:
    source = Counted(len(PICTURES))
    kept = kept_if_small(source, PICTURES.nbytes)
    assert [frame.index for frame in kept.frames(every=3)] == [0, 3]
    assert source.readings == 1
    for start, every in ((0, 1), (1, 2), (0, 3)):
        expected = list(source.frames(start, every))
        source.readings = 0
        frames = list(kept.frames(start, every))
        assert [frame.index for frame in frames] == [frame.index for frame in expected]
        for frame, wanted in zip(frames, expected, strict=True):
            assert np.array_equal(frame.pixels, wanted.pixels)
        assert source.readings == 0


def test_what_is_too_large_or_of_unknown_length_is_not_kept() -> None:
    for source, most in ((Counted(len(PICTURES)), PICTURES.nbytes - 1), (Counted(None), PICTURES.nbytes)):
        assert kept_if_small(source, most) is source


def test_a_file_that_is_longer_than_it_says_is_not_kept() -> None:
    source = Counted(1)
    kept = kept_if_small(source, PICTURES[:2].nbytes)
    assert kept is not source
    assert [frame.index for frame in kept.frames()] == [0, 1, 2, 3]
    assert [frame.index for frame in kept.frames()] == [0, 1, 2, 3] and source.readings == 2


def test_a_reading_that_was_left_early_keeps_nothing() -> None:
    source = Counted(len(PICTURES))
    kept = kept_if_small(source, PICTURES.nbytes)
    assert next(iter(kept.frames())).index == 0
    assert [frame.index for frame in kept.frames()] == [0, 1, 2, 3] and source.readings == 2
