"""Folders that are ours to write: new, empty, or marked as made by us; anybody else's are left alone.

Earlier results are replaced as a whole, in one exchange, and only where the caller says so. What a person has put
beside them is kept.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from locater.errors import LocaterError
from locater.io.atomic import atomic_path, check_folder, is_fixed, plain_os_errors
from locater.io.exchange import NEW, OLD, put_in_place, sync_all
from locater.io.scratch import is_scratch, remove_abandoned, scratch_beside

MARKER = ".locater.json"
_NOBODYS = {".DS_Store", "Thumbs.db", "desktop.ini"}  # what systems leave in any folder that a person looks at


@contextmanager
def results_folder(target: Path, made_by: str, *, force: bool, known_by: Collection[str] = ()) -> Iterator[Path]:
    """A folder beside `target` to fill; it takes `target`'s place as a whole on success and is gone on failure.

    `target` may hold nothing yet, or with `force` earlier results. A folder is known as ours by its marker, or by
    the names `known_by`, of files that say themselves what they are; such a folder gets no marker.
    """
    check_results_folder(target, force=force, known_by=known_by)
    with plain_os_errors(target), _scratch_for(Path(os.path.realpath(target))) as scratch:
        new = scratch / NEW
        yield new
        entries = sorted(entry.name for entry in new.iterdir())
        if not known_by:
            _write_marker(new / MARKER, made_by, entries)
        sync_all(new)
        target = Path(os.path.realpath(target))  # a link to a folder stays one
        if is_fixed(target):
            _fill(target, scratch, made_by, entries, is_marked=not known_by)
        elif target.exists():
            _exchange(target, scratch)
        else:
            put_in_place(new, target, scratch)


def check_results_folder(target: Path, *, force: bool, known_by: Collection[str] = ()) -> None:
    """Nothing, where `results_folder` may write: to be asked before the work starts."""
    check_folder(target)
    with plain_os_errors(target):
        found = _entries(target)
    if not found:
        return
    is_ours = MARKER in found or (bool(known_by) and set(known_by) <= found)
    if not is_ours:
        raise _not_ours(target, found)
    if not force:
        raise LocaterError(f"{target} holds earlier results; add --force to replace them, or choose another folder.")


def claim_folder(marker: Path, identity: Mapping[str, Any], holds: str) -> None:
    """Marks a folder by `marker` as belonging to this work, or refuses one that `holds` what differs from it.

    `holds` is the middle of that sentence: "answers of another run". A folder with other files and no marker is
    refused too.
    """
    folder = marker.parent
    check_folder(folder)
    remove_abandoned(folder)
    found = {name for name in _entries(folder) if not name.startswith(".")}
    if marker.exists():  # asked after looking: another process of this run may just have claimed it
        _check_identity(marker, identity, holds)
        return
    if found:
        raise _not_ours(folder, found)
    with atomic_path(marker) as partial:  # every process of a run writes the same
        partial.write_text(json.dumps(identity, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _scratch_for(target: Path) -> AbstractContextManager[Path]:
    """A scratch folder on the file system that `target`'s content is on: inside, where it may be mounted."""
    return scratch_beside(target / target.name if is_fixed(target) else target)


def _check_identity(marker: Path, identity: Mapping[str, Any], holds: str) -> None:
    try:
        found = json.loads(marker.read_text("utf-8"))
    except (OSError, ValueError):
        found = {}
    differing = [name for name, value in identity.items() if found.get(name) != value]
    if differing:
        raise LocaterError(f"{marker.parent} holds {holds} (another {', '.join(differing)}); choose another --out.")


def _entries(folder: Path) -> set[str]:
    """The names in a folder that somebody put there; none where there is no folder."""
    if not folder.is_dir():
        return set()
    return {entry.name for entry in folder.iterdir() if entry.name not in _NOBODYS and not is_scratch(entry.name)}


def _not_ours(folder: Path, found: Collection[str]) -> LocaterError:
    return LocaterError(f"{folder} holds files that are not ours, such as {min(found)}; choose a new or empty folder.")


def _write_marker(path: Path, made_by: str, entries: Collection[str]) -> None:
    about = {"made_by": made_by, "entries": sorted(entries)}
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _marked(folder: Path) -> set[str]:
    """What an earlier run wrote into a folder, the marker included."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return {MARKER, *(str(name) for name in json.loads((folder / MARKER).read_text("utf-8"))["entries"])}
    return {MARKER}


def _exchange(target: Path, scratch: Path) -> None:
    """Exchange the new folder for the old one, with what a person put into the old one in both."""
    new, ours = scratch / NEW, _marked(target)
    shutil.copymode(target, new)
    for entry in sorted(target.iterdir()):
        if entry.name in ours or is_scratch(entry.name):
            continue
        if not os.path.lexists(new / entry.name):
            _link(entry, new / entry.name)
        elif MARKER in ours and (target / MARKER).exists():
            raise LocaterError(f"{entry} is not ours and would be replaced; move it, or choose another folder.")
    put_in_place(new, target, scratch)
    old = new if new.exists() else scratch / f"{OLD}-{target.name}"
    for entry in sorted(old.iterdir()):  # what has come since
        if entry.name not in ours and not os.path.lexists(target / entry.name):
            entry.replace(target / entry.name)


def _fill(target: Path, scratch: Path, made_by: str, entries: Collection[str], is_marked: bool) -> None:
    """Move the entries one by one into a folder that must stay the same one; marked before the first, for a kill."""
    earlier = _marked(target) - {MARKER} if (target / MARKER).exists() else set()
    foreign = _entries(target) - earlier - {MARKER}
    taken = sorted(foreign & set(entries))
    if is_marked and taken:
        raise LocaterError(f"{target / taken[0]} is not ours and would be replaced; move it, or choose another folder.")
    if is_marked:
        _write_marker(target / MARKER, made_by, {*earlier, *entries})
    for name in entries:
        put_in_place(scratch / NEW / name, target / name, scratch)
    for name in sorted(earlier - set(entries)):
        if os.path.lexists(target / name):
            (target / name).replace(scratch / f"{name}.old")
    if is_marked:
        _write_marker(target / MARKER, made_by, entries)


def _link(entry: Path, copy: Path) -> None:
    """The same file under a second name, or a copy where a file system has no such thing; folders with all in them."""
    if entry.is_dir() and not entry.is_symlink():
        copy.mkdir()
        for each in entry.iterdir():
            _link(each, copy / each.name)
        shutil.copystat(entry, copy)
        return
    try:
        copy.hardlink_to(entry)
    except OSError:
        shutil.copy2(entry, copy, follow_symlinks=False)
