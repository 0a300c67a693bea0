"""Child processes that decode, each with a connection to it; they end with whoever asked for them."""

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from locater.video.guarded.channel import Channel

_PROGRAM = "import sys; sys.path[:] = {path!r}; from locater.video.guarded.server import serve; serve({fd})"


def can_guard() -> bool:
    """Whether this system can hand an open connection to another process."""
    return hasattr(socket, "send_fds") and hasattr(os, "fork")


class _Server:
    """The process that decoders are forked from, started when first needed; one for each process that reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count()

    def start(self) -> None:
        """Begin to import what decodes, so that nobody need wait for it later."""
        with self._lock:
            self._running()

    @contextmanager
    def decoder(self) -> Iterator[Channel]:
        """A connection to a new process, which is killed at the end."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            with self._lock:
                number = next(self._numbers)
                order = json.dumps(["start", number]).encode() + b"\n"
                try:
                    socket.send_fds(self._running(), [order], [theirs.fileno()])
                except OSError:  # killed from outside
                    self._control = None
                    socket.send_fds(self._running(), [order], [theirs.fileno()])
                control = self._control
            theirs.close()
            try:
                yield Channel(ours)
            finally:
                ours.close()
                with self._lock, suppress(OSError):
                    if control is not None and control is self._control:
                        control.sendall(json.dumps(["end", number]).encode() + b"\n")

    def _running(self) -> socket.socket:
        if self._control is None:
            ours, theirs = socket.socketpair()
            with theirs:
                program = _PROGRAM.format(path=sys.path, fd=theirs.fileno())
                self._process = subprocess.Popen(
                    [sys.executable, "-c", program],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    process_group=0,  # Ctrl-C is for the reader, also before the server can say that it ignores it
                )
            self._control = ours
        return self._control

    def forget(self) -> None:
        """Leave the server to the process that started it: this one was forked from there."""
        if self._control is not None:
            self._control.close()
        self._lock = threading.Lock()
        self._control = self._process = None


_SERVER = _Server()
start_decoders, decoder = _SERVER.start, _SERVER.decoder
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_SERVER.forget)
