"""Ctrl-C and termination: one line, what is half-written removed, and the exit code that shells expect."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED, TERMINATED = 130, 143  # 128 + SIGINT, 128 + SIGTERM, as shells count
_SAID = {
    signal.SIGINT: "Interrupted; nothing half-written is left.",
    signal.SIGTERM: "Terminated; nothing half-written is left.",
}


class Terminated(BaseException):
    """SIGTERM, on its way up through everything that cleans up after itself."""


def catch_signals() -> None:
    """From now on both signals end the program in one line; to be called before anything heavy is imported."""
    for number in _SAID:
        signal.signal(number, _stop)
    os.register_at_fork(after_in_child=_leave_to_the_parent)


def _leave_to_the_parent() -> None:
    """Signals as Python has them, in processes that prepare batches: one line is enough."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def stopped(number: signal.Signals) -> NoReturn:
    """Say it, and end with the signal's exit code: for whoever caught the exception at the very top."""
    print(_SAID[number], file=sys.stderr)
    raise SystemExit(128 + number)


def _stop(number: int, frame: FrameType | None) -> None:
    for each in _SAID:
        signal.signal(each, _stop_at_once)  # a second one does not wait for the tidying up
    if not _is_writing() and _is_importing(frame):
        # Imports and what they call lose exceptions, or turn them into others.
        _stop_at_once(number, frame)
    if number == signal.SIGTERM:
        raise Terminated
    raise KeyboardInterrupt


def _stop_at_once(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    said = _SAID[signal.Signals(number)] if not _is_writing() else "Stopped; the next run there removes what is left."
    os.write(2, f"{said}\n".encode())
    os._exit(128 + number)


def _is_writing() -> bool:
    scratch = sys.modules.get("locater.io.scratch")  # not imported for this: then nothing is being written
    return scratch is not None and scratch.is_writing()


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
