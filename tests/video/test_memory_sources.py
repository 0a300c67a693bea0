"""Pictures that a program already has: Pillow images, lists of files, tensors."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from locater.errors import LocaterError
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
