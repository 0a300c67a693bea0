"""Files and folders that appear whole or not at all: written beside, synced, renamed."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from locater.errors import LocaterError


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A path beside `target` to write to; it takes `target`'s name on success and is gone on failure."""
    with _plain_os_errors(target), atomic_folder_beside(target) as folder:
        partial = folder / target.name
        yield partial
        _sync(partial)
        partial.replace(target)


@contextmanager
def atomic_entries(target: Path) -> Iterator[Path]:
    """A folder beside `target` to fill; on success its entries move into `target`, over those of the same name."""
    with _plain_os_errors(target), atomic_folder_beside(target) as folder:
        yield folder
        for path in folder.rglob("*"):
            if path.is_file():
                _sync(path)
        target.mkdir(parents=True, exist_ok=True)
        for entry in sorted(folder.iterdir()):
            _replace(entry, target / entry.name, folder)


@contextmanager
def atomic_folder_beside(target: Path) -> Iterator[Path]:
    """A hidden folder on `target`'s file system, removed at the end whatever happens."""
    target.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replace(entry: Path, destination: Path, scratch: Path) -> None:
    # A folder can be renamed neither over a full one nor over a file.
    if destination.is_dir() or (destination.exists() and entry.is_dir()):
        destination.replace(scratch / f"{entry.name}.old")
    entry.replace(destination)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def _plain_os_errors(target: Path) -> Iterator[None]:
    """Turns a full disk, a read-only folder and their like into one sentence."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LocaterError(f"Cannot write {target}: {reason}; choose another place with enough room.") from error
