"""One network trained once for a table, in a process of its own, and what of its row's settings that training reads."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.errors import LocaterError
from locater.training.command import what_training_reads


@dataclass(frozen=True)
class TrainedRun:
    """Where a run is kept, and all that decides its weights."""

    folder: Path
    preset: str
    data: str
    changes: tuple[str, ...]
    seed: int
    start: Path | None = None  # it begins with the weights of that checkpoint that fit
    start_parts: tuple[str, ...] = ()  # with those of these parts alone; none named: of all

    def train(self, workers: int) -> None:
        """Train it by the real command; one that was interrupted goes on, one that is finished is left alone."""
        arguments = ["train", self.preset, "--data", self.data, "--out", str(self.folder)]
        arguments += ["--seed", str(self.seed), "--workers", str(workers)]
        if self.start is not None:
            which = ("--start-parts", ",".join(self.start_parts)) if self.start_parts else ("--start-fits",)
            arguments += ["--start", str(self.start), *which]
        sets = [part for setting in self.changes for part in ("--set", setting)]
        done = subprocess.run(
            [sys.executable, "-m", "locater", *arguments, *sets], capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise LocaterError(f"The run in {self.folder} failed: {last.removeprefix('Error: ')}")


def needed_changes(preset: str, changes: Sequence[str], common: Sequence[str]) -> tuple[str, ...]:
    """Those changes of a row without which another network would be trained, given those `common` to all rows."""

    def read(some: Sequence[str]) -> object:
        try:
            return what_training_reads(preset, [*some, *common])
        except LocaterError:  # the width of an encoder that is not chosen: what chooses it is needed
            return None

    wanted = what_training_reads(preset, [*changes, *common])
    kept = tuple(each for each in changes if read([other for other in changes if other != each]) != wanted)
    return kept if read(kept) == wanted else tuple(changes)
