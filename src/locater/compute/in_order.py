"""Work that threads share, its results in the order of what was given."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_GivenT = TypeVar("_GivenT")
_DoneT = TypeVar("_DoneT")


def in_order(given: Iterable[_GivenT], work: Callable[[_GivenT], _DoneT], threads: int, ahead: int) -> Iterator[_DoneT]:
    """`work` of each by so many threads, `ahead` of them at most before they are asked for; without threads then.

    What goes wrong comes in its place, after all that came before it.
    """
    if not threads:
        yield from map(work, given)
        return
    waiting: deque[Future[_DoneT]] = deque()
    failure: Exception | None = None
    with ThreadPoolExecutor(threads, "locater-convert") as pool:
        rest = iter(given)
        while True:
            try:
                each = next(rest)
            except StopIteration:
                break
            except Exception as error:
                failure = error
                break
            waiting.append(pool.submit(work, each))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    if failure is not None:
        raise failure
