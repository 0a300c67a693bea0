"""Run lengths, letter for letter as pycocotools writes them."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from pycocotools import mask as coco

from locater.io import rle

masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=40))


@st.composite
def boxes(draw: st.DrawFn) -> npt.NDArray[np.bool_]:
    """Large masks of few boxes, whose runs need several characters and shrink as well as grow."""
    height, width = draw(st.integers(1, 300)), draw(st.integers(1, 300))
    mask = np.zeros((height, width), dtype=np.bool_)
    for _ in range(draw(st.integers(0, 4))):
        top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
        mask[top : top + draw(st.integers(1, 300)), left : left + draw(st.integers(1, 300))] ^= True
    return mask


@given(masks | boxes())
def test_equal_to_pycocotools_and_back(mask: npt.NDArray[np.bool_]) -> None:
    height, width = mask.shape
    counts = rle.encode(mask)
    theirs = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert counts == theirs["counts"]
    np.testing.assert_array_equal(rle.decode(counts, height, width), mask)
    assert rle.area(counts) == mask.sum() == coco.area(theirs)
    np.testing.assert_array_equal(coco.decode({"size": [height, width], "counts": counts}), mask)


def test_full_and_empty() -> None:
    for value in (False, True):
        mask = np.full((480, 640), value)
        assert rle.area(rle.encode(mask)) == 480 * 640 * value
        np.testing.assert_array_equal(rle.decode(rle.encode(mask), 480, 640), mask)


@given(masks, st.integers(0, 60))
def test_wrong_size_is_refused(mask: npt.NDArray[np.bool_], extra: int) -> None:
    with pytest.raises(ValueError, match="run lengths cover"):
        rle.decode(rle.encode(mask), mask.shape[0] + extra + 1, mask.shape[1])


@given(st.binary(max_size=40))
def test_nonsense_is_an_error_or_a_mask(counts: bytes) -> None:
    """Never another kind of failure: the counts may come from a stranger's file."""
    try:
        mask = rle.decode(counts, 6, 5)
    except ValueError:
        return
    assert mask.shape == (6, 5)
