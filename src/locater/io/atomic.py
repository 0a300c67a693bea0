"""Files and folders that appear whole or not at all: written beside, synced, renamed."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from locater.errors import LocaterError
from locater.io.exchange import NEW, put_in_place, sync_all, sync_file, sync_folder
from locater.io.scratch import scratch_beside


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A path beside `target` to write to; it takes `target`'s name on success and is gone on failure."""
    with plain_os_errors(target), scratch_beside(target) as scratch:
        partial = scratch / NEW / target.name
        yield partial
        sync_file(partial)
        partial.replace(target)
        sync_folder(target.parent)


@contextmanager
def atomic_entries(target: Path) -> Iterator[Path]:
    """A folder beside `target` to fill; on success its entries move into `target`, each over that of the same name."""
    check_folder(target)  # now, not after hours of work
    inside = target / target.name if is_fixed(target) else target
    with plain_os_errors(target), scratch_beside(inside) as scratch:
        yield scratch / NEW
        sync_all(scratch / NEW)
        target.mkdir(parents=True, exist_ok=True)
        for entry in sorted((scratch / NEW).iterdir()):
            put_in_place(entry, target / entry.name, scratch)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target` to fill; it takes `target`'s place as a whole on success and is gone on failure."""
    with plain_os_errors(target), scratch_beside(target) as scratch:
        yield scratch / NEW
        sync_all(scratch / NEW)
        put_in_place(scratch / NEW, target, scratch)


def is_fixed(folder: Path) -> bool:
    """Whether a folder must stay the same one: what is mounted cannot be renamed, nor does a shell in it follow."""
    try:
        return folder.is_dir() and (os.path.ismount(folder) or Path.cwd().is_relative_to(folder.resolve()))
    except FileNotFoundError:  # the folder that this process started in is gone
        return False


def check_folder(target: Path) -> None:
    """Nothing, unless something else than a folder has the name."""
    with plain_os_errors(target):
        if target.exists() and not target.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


@contextmanager
def plain_os_errors(target: Path) -> Iterator[None]:
    """Turns a full disk, a read-only folder and their like into one sentence."""
    try:
        yield
    except OSError as error:
        raise _cannot_write(target, error.strerror or str(error)) from error
    except SafetensorError as error:
        # It hides the system's own: "Error while serializing: I/O error: No space left on device (os error 28)".
        system = re.search(r"\(os error (\d+)\)", str(error))
        if system is None:
            raise
        raise _cannot_write(target, os.strerror(int(system[1]))) from error


def _cannot_write(target: Path, reason: str) -> LocaterError:
    return LocaterError(f"Cannot write {target}: {reason.lower()}; choose another place with enough room.")
