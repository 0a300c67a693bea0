"""Messages between a reader and the process that decodes for it: JSON, and pixels as they are."""

import json
import os
import select
import socket
import struct
import threading
import time
from typing import Any

LARGEST_MESSAGE = 2**26  # bytes: a folder of some hundred thousand pictures, by their names
_LENGTH = 8  # bytes
_LEAST_WAIT = 1e-3  # seconds
_TIME = struct.Struct("@ll")  # C's timeval: seconds and microseconds


class ChannelClosedError(Exception):
    """The other side is gone, or says what it cannot mean."""


class SilentError(Exception):
    """The other side said nothing for too long."""


class Channel:
    """One side of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._turn = threading.Lock()

    def send(self, kind: str, content: object, pixels: memoryview | None = None) -> None:
        """Say something, on any thread; bytes whose number it tells may follow."""
        text = json.dumps([kind, content]).encode()
        with self._turn:
            self._send(memoryview(len(text).to_bytes(_LENGTH, "big") + text))
            if pixels is not None:
                self._send(pixels)

    def receive(self, seconds: float | None) -> tuple[str, Any]:
        """What the other side says next, within so many seconds."""
        size = int.from_bytes(self.receive_bytes(_LENGTH, seconds), "big")
        if size > LARGEST_MESSAGE:
            raise ChannelClosedError
        try:
            kind, content = json.loads(self.receive_bytes(size, seconds))
        except (ValueError, TypeError, RecursionError):
            raise ChannelClosedError from None
        return str(kind), content

    def receive_bytes(self, size: int, seconds: float | None) -> bytearray:
        """The next bytes; a whole frame of them comes in one piece of memory."""
        content = bytearray(size)
        self.receive_into(memoryview(content), seconds)
        return content

    def receive_into(self, place: memoryview, seconds: float | None) -> None:
        """Fill `place` with the next bytes."""
        until = None if seconds is None else time.monotonic() + seconds
        filled = 0
        while filled < len(place):
            wait = None if until is None else max(0.0, until - time.monotonic())
            if not select.select([self._socket], [], [], wait)[0]:
                raise SilentError
            try:
                self._give_up_after(wait)
                # A frame in one call: after each Python's threads take turns, and it comes in a dozen pieces.
                count = self._socket.recv_into(place[filled:], 0, socket.MSG_WAITALL)
            except OSError:
                count = 0
            if count == 0:
                raise ChannelClosedError
            filled += count

    def _give_up_after(self, seconds: float | None) -> None:
        """Let a call that waits for many bytes bring those that came within so many seconds."""
        whole, rest = divmod(0.0 if seconds is None else max(seconds, _LEAST_WAIT), 1.0)  # 0: no end
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIME.pack(int(whole), int(1e6 * rest)))

    def close(self) -> None:
        """Let go; the other side finds out."""
        self._socket.close()

    def _send(self, content: memoryview) -> None:
        # A signal or a reader that went away is an OSError, for whoever sends to take as the end.
        sent = 0
        while sent < len(content):
            sent += os.write(self._socket.fileno(), content[sent:])
