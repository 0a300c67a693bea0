"""Content known by its hash: files, and folders by the files in them."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

_BLOCK = 1 << 20


def digest_of(path: Path, leaving_out: Iterable[str] = ()) -> str:
    """SHA-256 of a file, or of a folder's files with their names; hidden ones and `leaving_out` do not count."""
    if not path.is_dir():
        return _file_digest(path)
    skipped = set(leaving_out)
    found = hashlib.sha256()
    for file in sorted(each for each in path.rglob("*") if each.is_file()):
        name = file.relative_to(path).as_posix()
        if name in skipped or any(part.startswith(".") for part in Path(name).parts):
            continue
        found.update(f"{len(name)} {name} {_file_digest(file)}".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def text_digest(*parts: str) -> str:
    """SHA-256 of texts, each told apart from the next."""
    found = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        found.update(f"{len(content)} ".encode() + content)
    return found.hexdigest()


def _file_digest(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
