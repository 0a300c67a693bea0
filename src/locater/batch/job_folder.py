"""The folder of a job: results by name, and under `.batch` what is needed to go on after any loss."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from locater.batch.records import Failure, Record, Tries
from locater.errors import LocaterError
from locater.io.atomic import atomic_path, plain_os_errors
from locater.io.results_folder import claim_folder
from locater.io.scratch import remove_abandoned

try:
    import fcntl
except ImportError:  # Windows: two jobs in one folder are the user's own care there
    fcntl = None  # type: ignore[assignment]

RECORD = ".batch.json"  # among a video's results
MARKER = ".job.json"  # marks the job's folder as ours
_INNER = ".batch"
_Written = TypeVar("_Written", bound=BaseModel)


class JobFolder:
    """Where everything of a job lies; on a cluster every machine sees it under the same path."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._inner = self.root / _INNER

    @property
    def log(self) -> Path:
        """What the engine prints."""
        return self._inner / "ray.log"

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """The folder as ours, and of this one job alone for as long."""
        claim_folder(self.root / MARKER, {"made_by": "locater batch"}, "other results")
        self._inner.mkdir(exist_ok=True)
        with plain_os_errors(self.root), (self._inner / "lock").open("w") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise LocaterError(f"Another job is at work in {self.root}; wait for it to end.") from None
            yield

    def results(self, name: str) -> Path:
        """The folder of a video's results."""
        return self.root / name

    def record(self, name: str) -> Record | None:
        """What is written of a finished video."""
        return _read(self.results(name) / RECORD, Record)

    def put_record(self, folder: Path, record: Record) -> None:
        """Write a finished video's record into the folder of its results, wherever that is being filled."""
        _write(folder / RECORD, record)

    def failure(self, name: str) -> Failure | None:
        """Why a video has no result."""
        return _read(self._inner / "failed" / f"{name}.json", Failure)

    def put_failure(self, name: str, failure: Failure) -> None:
        """Write down why."""
        _write(self._inner / "failed" / f"{name}.json", failure)

    def work(self, name: str) -> Path:
        """The folder of what is saved of a video that is not finished."""
        return self._inner / "work" / name

    def works(self) -> list[Path]:
        """Those of all videos that are under way."""
        folder = self._inner / "work"
        return list(folder.iterdir()) if folder.is_dir() else []

    def tries(self, name: str) -> Tries | None:
        """How often work on a video has begun."""
        return _read(self.work(name) / "tries.json", Tries)

    def put_tries(self, name: str, tries: Tries) -> None:
        """Write it down, before that work can end the process."""
        _write(self.work(name) / "tries.json", tries)

    def forget_work(self, name: str) -> None:
        """Remove all that only an unfinished video needs."""
        (self._inner / "failed" / f"{name}.json").unlink(missing_ok=True)
        shutil.rmtree(self.work(name), ignore_errors=True)

    def tidy(self) -> None:
        """Remove what killed workers left half-written."""
        remove_abandoned(self.root)
        with os.scandir(self._inner) as entries:
            folders = [Path(entry) for entry in entries if entry.is_dir()]
        for folder in folders:
            remove_abandoned(folder)


def _read(path: Path, kind: type[_Written]) -> _Written | None:
    """What was written; None where nothing is, or something else."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _write(path: Path, value: BaseModel) -> None:
    with atomic_path(path) as partial:
        partial.write_text(value.model_dump_json(indent=1) + "\n", "utf-8")
