"""A clip's frames as small pictures, for a page that shows them before and while they are segmented."""

from array import array
from pathlib import Path
from threading import Lock
from typing import BinaryIO


class Previews:
    """A clip's frames as small JPEGs in one file, by index, as far as they are made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ends = array("Q", [0])
        self._lock = Lock()
        self._file: BinaryIO | None = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, size: int) -> None:
        """Count the next one, which is in the file."""
        self._ends.append(self._ends[-1] + size)

    def picture(self, index: int) -> bytes:
        """A frame's JPEG."""
        with self._lock:
            self._file = self._file or self.path.open("rb")
            self._file.seek(self._ends[index])
            return self._file.read(self._ends[index + 1] - self._ends[index])

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
