"""A video's sound where it may be read: a copy that a process of its own made, which a bad file ends alone."""

from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Self

from locater.video.guarded.processes import can_guard
from locater.video.guarded.source import guarded_sound


class SoundCopy:
    """The sound of the file at `path`, for as many videos as want it; the copy is made when it is first asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._scratch: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    @cached_property
    def file(self) -> Path | None:
        """A file with the sound, which is there until the `with` block is left; None where there is none."""
        if not self._path.is_file():
            return None
        if not can_guard():
            return self._path
        self._scratch = TemporaryDirectory(prefix="locater-")
        return guarded_sound(self._path, Path(self._scratch.name) / "sound.mp4")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._scratch is not None:
            self._scratch.cleanup()
