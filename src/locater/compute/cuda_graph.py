"""Functions of tensors as CUDA graphs: thousands of small kernels, launched as one."""

import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

TensorFunction = Callable[..., tuple[Tensor, ...]]
_ResultT = TypeVar("_ResultT")
WARM_UPS = 2


def capture(
    work: Callable[[], _ResultT], pool: Any = None, stream: torch.cuda.Stream | None = None
) -> tuple[torch.cuda.CUDAGraph, _ResultT]:
    """What `work` launches as one CUDA graph, and what it returned: each replay fills that anew.

    Before it is recorded, `work` runs a few times outside the graph, where libraries choose their kernels and take
    their workspaces; whatever it adds to by then (gradients) is the caller's to set back. It is recorded in `stream`,
    by default one that all graphs share: those that run at the same time need another, as matrix products have one
    workspace per stream of recording.
    """
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    # Other threads may go on with work of their own meanwhile.
    with torch.cuda.graph(graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
        result = work()
    return graph, result


class CapturedGraph:
    """A pure function of tensors as one CUDA graph: a call copies the inputs in and replays it.

    What a call returns is overwritten by the next one, and by that of any graph with the same memory `pool`.
    """

    def __init__(self, function: TensorFunction, *examples: Tensor, pool: Any = None) -> None:
        self._inputs = tuple(example.clone() for example in examples)
        self._graph, self._outputs = capture(lambda: function(*self._inputs), pool)

    def __call__(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        """The function's results for these inputs."""
        for own, given in zip(self._inputs, tensors, strict=True):
            if own.data_ptr() != given.data_ptr():
                own.copy_(given)
        self._graph.replay()
        return self._outputs


def captured_in_shared_pool() -> Callable[..., TensorFunction]:
    """`CapturedGraph` whose graphs share their memory, so that ten of them take little more than the largest."""
    return partial(CapturedGraph, pool=torch.cuda.graph_pool_handle())


class Replays:
    """A function of tensors, captured when the same shapes come again and replayed from then on.

    The first time it just runs: most shapes come once, and capturing costs some runs. What a call returns is the
    caller's own. `capture` makes a faster twin of a function for tensors like its examples: of `captured`, where there
    is one that is faster for tensors of one shape.
    """

    def __init__(
        self,
        function: TensorFunction,
        capture: Callable[..., TensorFunction],
        captured: TensorFunction | None = None,
        room: int = 8,
    ) -> None:
        self._function = function
        self._captured = captured or function
        self._capture = capture
        self._room = room
        self._known: dict[Hashable, TensorFunction | None] = {}  # the last used last; None: seen once
        self._lock = threading.Lock()  # the graphs' inputs and outputs are one for all threads

    def __call__(self, how: Hashable, *tensors: Tensor) -> tuple[Tensor, ...]:
        """`function(how, *tensors)`; whatever decides what is computed, other than shapes, is in `how`."""
        key = _key(how, tensors)
        with self._lock:
            if key not in self._known:
                self._remember(key, None)
                return self._function(how, *tensors)
            twin = self._known.pop(key) or self._capture(partial(self._captured, how), *tensors)
            self._remember(key, twin)
            return tuple(tensor.clone() for tensor in twin(*tensors))

    def has(self, how: Hashable, *tensors: Tensor) -> bool:
        """Whether a call with such tensors is replayed by now."""
        with self._lock:
            return self._known.get(_key(how, tensors)) is not None

    def _remember(self, key: Hashable, twin: TensorFunction | None) -> None:
        self._known[key] = twin
        if len(self._known) > self._room:
            del self._known[next(iter(self._known))]


def _key(how: Hashable, tensors: tuple[Tensor, ...]) -> Hashable:
    return (how, *((tensor.shape, tensor.dtype) for tensor in tensors))
