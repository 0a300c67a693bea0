"""Work that threads share: in its order, so far ahead and no farther, with every error in its place."""

import threading
import time
from collections.abc import Iterator

import pytest

from locater.compute.in_order import in_order


@pytest.mark.parametrize(("threads", "ahead"), [(0, 1), (1, 1), (3, 1), (3, 6)])
def test_results_come_in_the_order_of_what_was_given(threads: int, ahead: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.001 * (number % 3))
        return number**2

    assert list(in_order(range(20), work, threads, ahead)) == [number**2 for number in range(20)]


def test_no_more_are_taken_than_may_wait() -> None:
    taken: list[int] = []

    def given() -> Iterator[int]:
        for number in range(10):
            taken.append(number)
            yield number

    some = in_order(given(), lambda number: number, threads=2, ahead=3)
    assert next(some) == 0
    assert taken == [0, 1, 2, 3]
    some.close()  # type: ignore[attr-defined]
    assert not [each for each in threading.enumerate() if each.name.startswith("locater-convert")]


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_comes_after_all_that_came_before_it(threads: int) -> None:
    def given() -> Iterator[int]:
        yield from range(3)
        raise ValueError("damaged")

    found: list[int] = []
    with pytest.raises(ValueError, match="damaged"):
        found.extend(in_order(given(), lambda number: number, threads, ahead=8))
    assert found == [0, 1, 2]


def test_an_error_of_the_work_is_raised_in_its_place() -> None:
    some = in_order((2, 1, 0, 3), lambda number: 6 // number, threads=2, ahead=8)
    assert (next(some), next(some)) == (3, 6)
    with pytest.raises(ZeroDivisionError):
        next(some)
