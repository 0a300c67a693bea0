"""Connections that cannot be held open for nothing: deadlines for requests and for readers, and a cap on their number.

Uvicorn waits for a request's head for ever, and for a reader too. Here both have a deadline, and where there are too
many connections the one that has waited longest without a request makes room, so that people still get in while
somebody opens thousands.
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_CONNECTIONS = 256
REQUEST_SECONDS = 15.0  # from the connection, or the last answer, to the end of the next request's head
READER_SECONDS = 60.0  # that a full buffer waits for its reader


class BoundedConnection(H11Protocol):
    """One connection of uvicorn's, with deadlines."""

    _waiting_since: float | None = None
    _deadline: asyncio.TimerHandle | None = None
    _reader_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request; where it is crowded, somebody must go."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            waiting = [each for each in self.connections if isinstance(each, BoundedConnection) and each.is_waiting]
            longest = min(waiting, key=lambda each: each._waiting_since or 0.0)
            longest.transport.abort()
            self.connections.discard(longest)

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self._waiting_since is not None

    def handle_events(self) -> None:
        """Take in what arrived; a whole head ends the waiting."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._wait()  # first, since a request that is here already ends it at once
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Give whoever does not read a while."""
        super().pause_writing()
        self._reader_deadline = self.loop.call_later(READER_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the reader reads."""
        self._drop_reader_deadline()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._stop_waiting()
        self._drop_reader_deadline()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        self._waiting_since = None
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _drop_reader_deadline(self) -> None:
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None
