"""Opening what is a file and nothing else: nobody waits for a pipe, and no device is read without end."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from locater.errors import LocaterError


def plain_file(path: Path | str) -> BinaryIO:
    """The open file."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
    raise LocaterError(f"{path} is no plain file but {kind}; put a file there, or name another.")
