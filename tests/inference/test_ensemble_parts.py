"""A mask sequence taken apart into the things that it marks."""

import numpy as np
import numpy.typing as npt

from locater.inference.ensemble.parts import parts_of

Masks = npt.NDArray[np.bool_]
NOTHING = np.zeros((96, 128), dtype=np.bool_)


def _square(top: int, left: int, side: int = 20) -> Masks:
    mask = NOTHING.copy()
    mask[top : top + side, left : left + side] = True
    return mask


def _iou(part: dict[int, Masks], truth: list[Masks]) -> float:
    return float(np.mean([(part[i] & t).sum() / (part[i] | t).sum() for i, t in enumerate(truth)]))


def test_two_things_that_move_are_two_parts_and_the_larger_is_first() -> None:
    small = [_square(10, 10 + 3 * index, 16) for index in range(8)]
    large = [_square(60, 90 - 4 * index, 24) for index in range(8)]
    whole = {index: small[index] | large[index] for index in range(8)}
    first, second = parts_of(whole)
    assert all(np.array_equal(first[index], large[index]) for index in range(8)), "to the pixel"
    assert all(np.array_equal(second[index], small[index]) for index in range(8))


def test_things_that_meet_stay_themselves() -> None:
    """They touch for some frames, one then is hidden for a while, and both go on."""
    one = [_square(30, 8 + 4 * index) for index in range(12)]
    other = [_square(30, 100 - 4 * index) if index != 8 else NOTHING for index in range(9)]
    other += [_square(30, 68 + 4 * index) for index in range(1, 4)]
    parts = parts_of({index: one[index] | other[index] for index in range(12)})
    assert len(parts) == 2
    left = max(parts, key=lambda part: int((part[0] & one[0]).sum()))
    assert _iou(dict(left), one) > 0.8, _iou(dict(left), one)


def test_one_thing_nothing_and_specks_have_no_parts() -> None:
    assert parts_of({0: NOTHING, 1: NOTHING}) == []
    assert parts_of({index: _square(10, 10 + index) for index in range(4)}) == []
    assert parts_of({index: _square(10, 10) | _square(80, 100, 2) for index in range(4)}) == [], "a speck is no thing"


def test_a_line_of_things_gives_the_largest_few() -> None:
    whole = NOTHING.copy()
    for place in range(6):
        whole |= _square(4, 2 + 21 * place, 6 + 3 * place)
    parts = parts_of({3: whole, 5: whole})
    assert len(parts) == 4 and all(set(part) == {3, 5} for part in parts)
    sizes = [int(part[3].sum()) for part in parts]
    assert sizes == [21**2, 18**2, 15**2, 12**2]
