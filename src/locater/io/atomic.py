"""Files and folders that appear whole or not at all: written beside, synced, renamed."""

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from locater.errors import LocaterError


@contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """A path beside `target` to write to; it takes `target`'s name on success and is gone on failure."""
    with plain_os_errors(target), atomic_folder_beside(target) as folder:
        partial = folder / target.name
        yield partial
        _sync(partial)
        partial.replace(target)


def claim_folder(marker: Path, identity: Mapping[str, Any], holds: str) -> None:
    """Marks a folder by `marker` as belonging to this work, or refuses one that `holds` what differs from it.

    `holds` is the middle of that sentence: "answers of another run".
    """
    if marker.exists():
        try:
            found = json.loads(marker.read_text("utf-8"))
        except (OSError, ValueError):
            found = {}
        differing = [name for name, value in identity.items() if found.get(name) != value]
        if differing:
            raise LocaterError(f"{marker.parent} holds {holds} (another {', '.join(differing)}); choose another --out.")
        return
    with atomic_path(marker) as partial:  # every process of a run writes the same
        partial.write_text(json.dumps(identity, indent=1, ensure_ascii=False) + "\n", "utf-8")


@contextmanager
def atomic_entries(target: Path) -> Iterator[Path]:
    """A folder beside `target` to fill; on success its entries move into `target`, over those of the same name."""
    with plain_os_errors(target), atomic_folder_beside(target) as folder:
        if target.exists() and not target.is_dir():  # now, not after hours of work
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        yield folder
        _sync_all(folder)
        target.mkdir(parents=True, exist_ok=True)
        for entry in sorted(folder.iterdir()):
            _replace(entry, target / entry.name, folder)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """A folder beside `target` to fill; it takes `target`'s place as a whole on success and is gone on failure."""
    with plain_os_errors(target), atomic_folder_beside(target) as scratch:
        folder = scratch / target.name
        folder.mkdir()
        yield folder
        _sync_all(folder)
        _replace(folder, target, scratch)


@contextmanager
def atomic_folder_beside(target: Path) -> Iterator[Path]:
    """A hidden folder on `target`'s file system, removed at the end whatever happens."""
    made = [parent for parent in target.parents if not parent.exists()]  # deepest first
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except BaseException:
        for parent in made:
            with suppress(OSError):  # never made, or someone else's files are in it by now
                parent.rmdir()
        raise


def _replace(entry: Path, destination: Path, scratch: Path) -> None:
    # A folder can be renamed neither over a full one nor over a file.
    if destination.is_dir() or (destination.exists() and entry.is_dir()):
        destination.replace(scratch / f"{entry.name}.old")
    entry.replace(destination)


def _sync_all(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            _sync(path)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


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
