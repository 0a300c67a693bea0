"""A private folder for uploads, gone with the server; what a killed server left is removed by the next."""

import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from locater.errors import LocaterError

_PREFIX = "locater-web-"
_LOCK = "lock"
_LEAST_FREE = 2**30  # bytes that are left to everybody else


class Scratch:
    """A folder that nobody else may read, with folders of random names in it."""

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._lock = os.open(self.root / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def folder(self) -> Path:
        """A new folder for one clip."""
        return Path(tempfile.mkdtemp(dir=self.root))

    def check_room(self, wanted: int) -> None:
        """Nothing, where `wanted` bytes and a good deal more are free."""
        if shutil.disk_usage(self.root).free < wanted + _LEAST_FREE:
            raise LocaterError("The server's disk is nearly full; try again later, or with a smaller clip.")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        os.close(self._lock)


def _sweep(place: Path) -> None:
    """Remove folders of ours whose server is gone: it held their lock as long as it lived."""
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                continue
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # somebody else's, or just being made
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # its server lives
        finally:
            os.close(lock)
