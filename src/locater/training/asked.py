"""What a training is asked for beside its settings, checked before anything is built."""

import os
from collections.abc import Sequence
from pathlib import Path

from locater.config import LARGEST_SEED
from locater.errors import LocaterError

_MOST_WORKERS = 1024


def check_asked(folder: Path, seed: int, workers: int, trackers: Sequence[str] = ()) -> None:
    """Nothing, where a training may begin."""
    if not 0 <= seed <= LARGEST_SEED:
        raise LocaterError(f"The seed is {seed}; give one from 0 to {LARGEST_SEED}.")
    if not 0 <= workers <= _MOST_WORKERS:
        raise LocaterError(f"There cannot be {workers} workers; give a number from 0 to {_MOST_WORKERS}.")
    if trackers:
        from accelerate.tracking import LOGGER_TYPE_TO_CLASS

        known = sorted(LOGGER_TYPE_TO_CLASS)
        for each in trackers:
            if each not in known:
                raise LocaterError(f"There is no tracker '{each}'; known are {', '.join(known)}.")
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(each))
    if not there.is_dir():
        raise LocaterError(f"{there} is no folder; name another with --out.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise LocaterError(f"{there} may not be written to; name another folder with --out.")
