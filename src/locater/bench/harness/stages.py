"""Where the time goes: timers around the real functions, each counting what is not inside another."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

import torch

from locater.bench.harness.timing import synchronise
from locater.records import Frame, FrameSource, VideoInfo

OTHER = "other"


class Stages:
    """Seconds by stage. The GPU is waited for at every change of stage, so the whole is slower than without."""

    def __init__(self, device: torch.device) -> None:
        self.seconds: dict[str, float] = {}
        self._device = device
        self._open = [OTHER]
        self._since = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Everything inside belongs to `name`, but for stages within."""
        self._count()
        self._open.append(name)
        try:
            yield
        finally:
            self._count()
            self._open.pop()

    def _count(self) -> None:
        synchronise(self._device)
        now = time.perf_counter()
        self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    @contextmanager
    def around(self, *places: tuple[Any, str, str]) -> Iterator[None]:
        """Timers on functions named by owner, attribute and stage; one that is not there any more is passed over."""
        with ExitStack() as undo:
            for owner, attribute, stage in places:
                function = getattr(owner, attribute, None)
                if function is not None:
                    is_own = attribute in vars(owner)
                    setattr(owner, attribute, self._timed(function, stage))
                    undo.callback(_restore, owner, attribute, function if is_own else None)
            self._since = time.perf_counter()
            yield
            self._count()

    def _timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        @wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            with self.stage(stage):
                return function(*arguments, **named)

        return timed


class TimedSource:
    """A source whose reading is a stage."""

    def __init__(self, source: FrameSource, stages: Stages, stage: str) -> None:
        self._source = source
        self._stages = stages
        self._stage = stage

    @property
    def info(self) -> VideoInfo:
        """The source's own."""
        return self._source.info

    @property
    def is_repeatable(self) -> bool:
        """The source's own."""
        return self._source.is_repeatable

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """The source's own, timed."""
        frames = self._source.frames(start, every)
        while True:
            with self._stages.stage(self._stage):
                frame = next(frames, None)
            if frame is None:
                return
            yield frame


def _restore(owner: Any, attribute: str, function: Callable[..., Any] | None) -> None:
    if function is None:
        delattr(owner, attribute)  # the class's own shows again
    else:
        setattr(owner, attribute, function)
