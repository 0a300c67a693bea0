"""Hidden folders beside what is being written, each locked by the process that fills it.

A killed process cannot remove its own; whoever writes there next gets the lock, and removes it.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from locater.io.exchange import NEW, finish_move

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there, and so nothing is taken for abandoned
    fcntl = None  # type: ignore[assignment]

_LOCK = "lock"
_NAME = re.compile(r"\..+\.[a-z0-9_]{8}\.partial")
_open: set[Path] = set()


def is_scratch(name: str) -> bool:
    """Whether a folder's name is one that `scratch_beside` gives."""
    return _NAME.fullmatch(name) is not None


def is_writing() -> bool:
    """Whether this process has anything half-written."""
    return bool(_open)


@contextmanager
def scratch_beside(target: Path) -> Iterator[Path]:
    """A hidden folder on `target`'s file system, with a folder `new` in it, removed at the end whatever happens."""
    made = [parent for parent in target.parents if not parent.exists()]  # deepest first
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(target.parent)
        folder, lock = _locked_folder(target)
        _open.add(folder)
        try:
            (folder / NEW).mkdir()
            yield folder
        finally:
            _delete(folder)
            _open.discard(folder)
            if lock is not None:
                os.close(lock)
    except BaseException:
        for parent in made:
            with suppress(OSError):  # never made, or someone else's files are in it by now
                parent.rmdir()
        raise


def remove_abandoned(folder: Path) -> None:
    """Remove the scratch folders in `folder` that nobody has locked, after finishing a move that a kill cut short."""
    with suppress(OSError), os.scandir(folder) as entries:
        found = [Path(entry) for entry in entries if is_scratch(entry.name) and entry.is_dir(follow_symlinks=False)]
        for each in found:
            with suppress(OSError):
                _remove(each)


def _remove(abandoned: Path) -> None:
    if not (abandoned / _LOCK).exists():
        abandoned.rmdir()  # killed before it was locked; a full folder without a lock is somebody else's
        return
    lock = _lock(abandoned)
    if lock is None:
        return
    try:
        finish_move(abandoned)
        _delete(abandoned)
    finally:
        os.close(lock)


def _delete(folder: Path) -> None:
    """Remove a scratch folder, its lock last: one that a kill left without a lock but not empty would stay for good."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry, ignore_errors=True)
            elif entry.name != _LOCK:
                with suppress(OSError):
                    Path(entry).unlink()
    shutil.rmtree(folder, ignore_errors=True)


def _locked_folder(target: Path) -> tuple[Path, int | None]:
    """A new folder beside `target` and the open file that locks it, if locks there are."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        try:
            (folder / _LOCK).touch()
            lock = _lock(folder)
        except FileNotFoundError:  # taken for abandoned between its making and its locking
            continue
        except OSError:  # a file system without locks
            return folder, None
        if fcntl is None:
            return folder, None
        if lock is not None and (folder / _LOCK).exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """The open file that locks a scratch folder; None where another process has it, or there are no locks."""
    if fcntl is None:
        return None
    descriptor = os.open(folder / _LOCK, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
