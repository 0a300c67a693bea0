"""A finished file or folder takes a name that is in use, at once: a kill leaves the old one or the new one, whole.

Linux exchanges two names in one step (`renameat2`). Elsewhere, and on file systems that cannot, it takes two renames;
a note written before the first lets the next run finish what a kill between them left (`finish_move`).
"""

import ctypes
import errno
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

NEW, OLD, NOTE = "new", "old", "move.json"  # in a scratch folder
_WORKING_FOLDER = -100  # AT_FDCWD
_RENAME_EXCHANGE = 2
_CANNOT = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM}


def put_in_place(entry: Path, destination: Path, scratch: Path) -> None:
    """Give `entry`, which lies in `scratch`/new, the name `destination`; what had it stays in the scratch folder."""
    is_taken = os.path.lexists(destination)
    is_plain = not entry.is_dir() and (destination.is_symlink() or not destination.is_dir())
    if not is_taken or is_plain:  # one rename does it; a folder can be renamed neither over a full one nor over a file
        entry.replace(destination)
    elif not exchanged(entry, destination):
        note = {"new": str(entry.relative_to(scratch)), "destination": str(destination.absolute())}
        (scratch / NOTE).write_text(json.dumps(note), "utf-8")
        sync_file(scratch / NOTE)
        destination.replace(scratch / OLD)
        entry.replace(destination)
        (scratch / NOTE).unlink()
        (scratch / OLD).replace(scratch / f"{OLD}-{destination.name}")  # makes room for the next
    sync_folder(destination.parent)


def finish_move(scratch: Path) -> None:
    """Put in place what a kill between the two renames left without a place; nothing else is touched."""
    try:
        note = json.loads((scratch / NOTE).read_text("utf-8"))
    except (OSError, ValueError):  # no such move was under way, or it had not begun
        return
    new, destination = scratch / note["new"], Path(note["destination"])
    if not os.path.lexists(destination):
        new.replace(destination)


def exchanged(one: Path, other: Path) -> bool:
    """Whether the two names have changed places in one step; False where the system cannot."""
    call = _renameat2()
    if call is None:
        return False
    if call(_WORKING_FOLDER, os.fsencode(one), _WORKING_FOLDER, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _renameat2() -> Any:
    """The C library's function, where there is one."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):  # no Linux, or a C library from before 2018
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call


def sync_all(folder: Path) -> None:
    """Everything below a folder on the disk itself, not only on its way there."""
    for path in folder.rglob("*"):
        if path.is_file():
            sync_file(path)


def sync_file(path: Path) -> None:
    """A file's content on the disk itself."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """A folder's names on the disk itself, where the system opens folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems have no such thing
        pass
    finally:
        os.close(descriptor)
