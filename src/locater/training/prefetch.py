"""The next batch, prepared while the GPU still works on the one before it."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from locater.training.graphed_step import tensors_of

Ready = tuple[Any, ...]  # a batch's records: dataclasses of tensors


class PrefetchedBatches:
    """Batches made from plans, one after another; `prefetch` makes the next one in a stream of its own.

    Copying a plan to the GPU waits for what was asked of its stream before. In the stream of the training step every
    batch would be drawn only after that step, and the GPU would then wait for the CPU in turn.
    """

    def __init__(
        self, plans: Iterator[Any], prepare: Callable[[Any, int], Ready], first: int, device: torch.device
    ) -> None:
        self._plans = plans
        self._prepare = prepare
        self._number = first  # of the next batch
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._next: Ready | None = None

    def take(self) -> Ready:
        """The next batch's records, ready for the current stream."""
        if self._next is None:
            self.prefetch()
        ready, self._next = self._next, None
        if ready is None:
            raise StopIteration
        if self._stream is not None:
            current = torch.cuda.current_stream()
            current.wait_stream(self._stream)
            for record in ready:
                for tensor in tensors_of(record).values():
                    tensor.record_stream(current)
        return ready

    def prefetch(self) -> None:
        """Prepare the batch that `take` will give; nothing where one is ready or there are no more."""
        if self._next is not None:
            return
        plan = next(self._plans, None)
        if plan is None:
            return
        with torch.cuda.stream(self._stream):  # None: no other stream
            self._next = self._prepare(plan, self._number)
        self._number += 1
