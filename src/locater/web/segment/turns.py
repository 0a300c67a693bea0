"""One network for many: jobs take turns chunk by chunk, a few at a time, and the others wait in line."""

import threading
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field


class CancelledError(Exception):
    """Somebody wants the job to end."""


class Baton:
    """What one thread at a time holds; who waits longest gets it next."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._line: deque[object] = deque()

    def take(self) -> None:
        """Wait at the end of the line, and hold it."""
        place = object()
        with self._changed:
            self._line.append(place)
            self._changed.wait_for(lambda: self._line[0] is place)

    def give(self) -> None:
        """Let the next one hold it."""
        with self._changed:
            self._line.popleft()
            self._changed.notify_all()

    def give_way(self) -> None:
        """Let everybody who waits have a turn first."""
        with self._changed:
            place = self._line.popleft()
            self._line.append(place)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._line[0] is place)


@dataclass(eq=False)
class Job:
    """Work of one client; it calls what it is given between chunks, which gives way to others or ends it."""

    client: Hashable
    work: Callable[[Callable[[], None]], None]
    is_cancelled: threading.Event = field(default_factory=threading.Event)
    on_cancelled: Callable[[], None] = lambda: None  # where it never began


class FairQueue:
    """Jobs in the order they came: at most `running` at a time, one of each client, by turns."""

    def __init__(self, running: int) -> None:
        self._most_running = running
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._running: dict[Hashable, threading.Thread] = {}
        self._baton = Baton()
        self._is_closed = False

    def submit(self, job: Job) -> None:
        """Begin the job now, or when its turn comes."""
        with self._lock:
            self._waiting.append(job)
            self._dispatch()

    def ahead_of(self, job: Job) -> int:
        """How many jobs wait before this one; 0 when it runs or is next."""
        with self._lock:
            return self._waiting.index(job) if job in self._waiting else 0

    def cancel(self, job: Job) -> None:
        """End the job: now if it waits, at its next chunk if it runs."""
        job.is_cancelled.set()
        with self._lock:
            is_waiting = job in self._waiting
            if is_waiting:
                self._waiting.remove(job)
        if is_waiting:
            job.on_cancelled()

    def close(self, seconds: float = 10.0) -> None:
        """End all; nothing runs when this returns, unless it does not stop in time."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
            threads = list(self._running.values())
        for thread in threads:
            thread.join(seconds)

    def _dispatch(self) -> None:
        for job in list(self._waiting):
            if self._is_closed or len(self._running) >= self._most_running:
                return
            if job.client not in self._running:
                self._waiting.remove(job)
                thread = threading.Thread(target=self._run, args=(job,), name="segmenting", daemon=True)
                self._running[job.client] = thread
                thread.start()

    def _run(self, job: Job) -> None:
        def pause() -> None:
            self._baton.give_way()
            if job.is_cancelled.is_set() or self._is_closed:
                raise CancelledError

        self._baton.take()
        try:
            with suppress(CancelledError):
                job.work(pause)
        finally:
            self._baton.give()
            with self._lock:
                del self._running[job.client]
                self._dispatch()
