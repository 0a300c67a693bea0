"""Faults in this process, at the n-th change that it makes to the disk below a folder.

A change is a rename, an exchange of two names, an fsync, or the making, linking, cutting or removing of a file or
folder, about to happen: a kill before each of them, and one more after the last, is a kill before and after each.
Python itself tells of most of them (its audit events); `os.fsync` and the C library's `renameat2` are wrapped. For
child processes of tests alone: an audit hook stays until its process ends.
"""

import errno
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locater.io import exchange

KILL, FULL, READ_ONLY = "kill", "full", "read-only"
_GROWING = {"open", "os.mkdir", "os.link", "os.symlink", "fsync"}  # what a full disk refuses
_NAMED = {"os.rename": (0, 1), "os.link": (1,), "os.symlink": (1,), "os.remove": (0,), "os.rmdir": (0,),
          "os.mkdir": (0,), "os.truncate": (0,), "open": (0,)}  # fmt: skip
_RANDOM = re.compile(r"\.[a-z0-9_]{8}(?=\.partial$)")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


@dataclass
class Faults:
    """What happens at which change; `report` gets the name of each before it happens."""

    below: str
    effect: str
    at: int  # counted from 1; 0: never
    has_exchange: bool
    report: Callable[[str], None]
    count: int = 0
    is_busy: bool = False

    def install(self) -> None:
        """From now on every change of this process is counted."""
        sync, find = os.fsync, exchange._renameat2

        def counted_sync(descriptor: int) -> None:
            self.change("fsync", str(_opened(descriptor)))
            sync(descriptor)

        def counted_exchange() -> Any:
            call = find() if self.has_exchange else None
            if call is None:
                return None

            def exchanging(*arguments: Any) -> int:
                self.change("exchange", os.fsdecode(arguments[3]))
                return int(call(*arguments))

            return exchanging

        setattr(os, "fsync", counted_sync)  # noqa: B010
        setattr(exchange, "_renameat2", counted_exchange)  # noqa: B010
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        places = _NAMED.get(event)
        if places is None or self.is_busy:
            return
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _WRITING):
            return
        self.is_busy = True  # what is asked below may be heard too
        try:
            paths = [os.fsdecode(arguments[each]) for each in places if isinstance(arguments[each], (str, bytes))]
            folder = next((each for each in arguments[1:] if type(each) is int and each >= 0), None)
            self.change(event, *(_absolute(path, event, folder) for path in paths))
        finally:
            self.is_busy = False

    def change(self, kind: str, *paths: str) -> None:
        """Count a change, and let it fail or end the process if its time has come."""
        if not any(path.startswith(self.below) for path in paths):
            return
        self.count += 1
        self.report(f"{kind} {_RANDOM.sub('', Path(paths[-1]).name)}")
        if self.effect == KILL and self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.at and self.count >= self.at and self.effect == READ_ONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), paths[-1])
        if self.at and self.count >= self.at and self.effect == FULL and kind in _GROWING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), paths[-1])


def _absolute(path: str, event: str, folder: int | None) -> str:
    """Where a name is; `shutil.rmtree` gives names within an open folder."""
    if event in ("os.remove", "os.rmdir") and folder is not None and not Path(path).is_absolute():
        return str(_opened(folder) / path)
    return os.path.abspath(path)  # noqa: PTH100, a link stays one


def _opened(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()
