"""The process from which decoders are forked: it has everything imported, no threads, and no file of anybody's.

`multiprocessing` has such a server too, but its processes import the program that was started once more, which would
run a script that reads a video twice.
"""

import gc
import json
import os
import signal
import socket
from collections import deque
from contextlib import suppress

from locater.video.guarded.channel import Channel
from locater.video.guarded.work import answer


def serve(control_fd: int) -> None:
    """Fork a decoder for each connection that is handed over, kill one when told to; end, with all, when left alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that is the reader's to answer
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    control = socket.socket(fileno=control_fd)
    decoders: dict[int, int] = {}
    handed: deque[int] = deque()
    rest = b""
    gc.freeze()  # forked processes share what is imported
    while True:
        try:
            content, files, _, _ = socket.recv_fds(control, 4096, 16)
        except OSError:
            content, files = b"", []
        if not content:
            break
        handed.extend(files)
        *lines, rest = (rest + content).split(b"\n")
        for order, number in map(json.loads, lines):
            if order == "start":
                decoders[number] = _forked(handed.popleft(), control)
            else:
                _end(decoders.pop(number))
    for process in decoders.values():
        _end(process)


def _forked(connection: int, control: socket.socket) -> int:
    process = os.fork()
    if process:
        os.close(connection)
        return process
    try:
        control.close()
        answer(Channel(socket.socket(fileno=connection)))
    finally:
        os._exit(0)


def _end(process: int) -> None:
    # Not reaped before, so the number is still its own.
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(process, 0)
