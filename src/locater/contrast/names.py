"""Names of files made from the keys of samples."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

_LONGEST = 60  # two names and a suffix stay below the 255 bytes that file systems allow


def file_names(keys: Iterable[str]) -> dict[str, str]:
    """A name for each key: readable, fit for any file system, and no two alike.

    A name depends on its key alone, unless two keys would get the same one: adding a sample renames nothing.
    """
    plain = {key: _plain(key) for key in keys}
    # Not every file system tells Dog from dog.
    times = Counter(name.casefold() for name in plain.values())
    return {
        key: name if times[name.casefold()] == 1 else f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
        for key, name in plain.items()
    }


def _plain(key: str) -> str:
    # A leading dot would hide the file; a double underscore parts the two names of a pair.
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9.-]", "_", key)).lstrip(".")[:_LONGEST] or "_"
