"""Videos from wherever they are: local paths, and addresses that fsspec opens, copied while they are worked on."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from locater.errors import LocaterError
from locater.io.digests import digest_of

LARGEST_DOWNLOAD = 256 << 30  # bytes: a day of good video; what never ends must not fill a disk
_BLOCK = 4 << 20
_FILE = "file://"
# What storages tell of a file's version, under the names that fsspec's file systems have for it.
_VERSIONS = ("ETag", "etag", "md5", "md5Hash", "generation", "Content-MD5", "Digest", "Last-Modified", "LastModified")


def local_path(address: str) -> Path | None:
    """The path, where an address is one."""
    if address.startswith(_FILE):
        return Path(address[len(_FILE) :])
    return None if "://" in address or "::" in address else Path(address)


def check_protocols(addresses: Iterable[str]) -> None:
    """Nothing, when this machine has what opens each kind of address: to be asked before the work starts."""
    import fsspec

    firsts: dict[str, str] = {}
    for address in addresses:
        if local_path(address) is None:
            firsts.setdefault(address.split("://")[0].split("::")[0], address)
    for protocol, address in firsts.items():
        try:
            fsspec.get_filesystem_class(protocol)
        except (ValueError, ImportError) as error:
            raise LocaterError(f"Cannot open {address}: {error}; install what reads {protocol}.") from None


def version_of(address: str) -> str | None:
    """A text that changes when the file does, asked for without reading it; None where nobody can tell."""
    path = local_path(address)
    if path is not None:
        if not path.is_file():  # a folder's own time does not tell of the pictures in it
            return None
        facts = path.stat()
        return f"{path} {facts.st_size} {facts.st_mtime_ns}"
    with _plain_errors(address):
        filesystem, place = _opened(address)
        told = filesystem.info(place)
    versions = {name: str(told[name]) for name in _VERSIONS if told.get(name)}
    return f"{address} {told.get('size')} {json.dumps(versions, sort_keys=True)}" if versions else None


@contextmanager
def local_video(address: str) -> Iterator[tuple[Path, str]]:
    """A path to the video, and the hash of its content; a copy of what is elsewhere is gone at the end."""
    path = local_path(address)
    if path is not None:
        try:
            content = digest_of(path)
        except OSError as error:
            raise LocaterError(f"Cannot read {path}: {(error.strerror or str(error)).lower()}; check it.") from None
        yield path, content
        return
    with tempfile.TemporaryDirectory(prefix="locater-") as folder:
        name = PurePosixPath(urlsplit(address).path).name[-100:]
        copy = Path(folder) / (name or "video")
        with _plain_errors(address):
            content = _copied(address, copy)
        yield copy, content


def _copied(address: str, copy: Path) -> str:
    """The content's hash; one reading makes both."""
    found, size = hashlib.sha256(), 0
    filesystem, place = _opened(address)
    with filesystem.open(place, "rb") as source, copy.open("wb") as target:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > LARGEST_DOWNLOAD:
                raise LocaterError(f"{address} has more than {LARGEST_DOWNLOAD >> 30} GB; divide the video.")
            found.update(block)
            target.write(block)
    return found.hexdigest()


def _opened(address: str) -> tuple[Any, str]:
    import fsspec

    filesystem, place = fsspec.core.url_to_fs(address)
    return filesystem, str(place)


@contextmanager
def _plain_errors(address: str) -> Iterator[None]:
    """Turns whatever a storage's own library raises into one sentence; each has errors of its own."""
    try:
        yield
    except LocaterError:
        raise
    except Exception as error:
        told = " ".join(str(error).split())[:200] or type(error).__name__
        raise LocaterError(f"Cannot fetch {address}: {told}; check the address and the access to it.") from error
