"""A writer under a fault: what lies there afterwards, and what another run makes of it."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from PIL import Image
from safetensors.torch import load_file

from locater.io.scratch import is_scratch
from tests.faults.forkserver import Asked, Told
from tests.faults.injecting import FULL, KILL, READ_ONLY
from tests.faults.writers import Writer
from tests.support.command_line.running import ENVIRONMENT, snapshot

ROOT = Path(__file__).parents[2]
ERRORS = {FULL: "no space left on device", READ_ONLY: "read-only file system"}
Tree = dict[str, bytes | None]


class Commands:
    """Runs of writers in children of one process that has everything imported."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        assert self._hear() == "ready"

    def run(self, asked: Asked) -> Told:
        """How it ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(asked)) + "\n")
        self._process.stdin.flush()
        return Told(**self._hear())

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())


@contextmanager
def commands(*imported: str) -> Iterator[Commands]:
    """The process that forks, gone at the end; `imported` are modules that it is to have besides."""
    environment = {**ENVIRONMENT, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.forkserver", *imported],
        cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield Commands(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()


@dataclass(frozen=True)
class Trial:
    """A writer, its inputs, and what a whole run of it leaves; each run is in the same place, emptied before."""

    commands: Commands
    writer: Writer
    folder: Path  # with `inputs`, `earlier` and `place`
    whole: Tree  # a whole run's result
    earlier: Tree  # what was there before
    changes: tuple[str, ...]  # that a whole run makes, in their order, and its end
    has_exchange: bool = True

    @property
    def out(self) -> Path:
        """Where it writes to."""
        return self.folder / "place" / "out"

    def points(self, effect: str) -> list[int]:
        """Where to let it happen: a kill at every change, a disk's refusal at the first of those that are alike."""
        if effect == KILL:
            return list(range(1, len(self.changes) + 1))
        first = {change: place for place, change in reversed([*enumerate(self.changes[:-1], start=1)])}
        return sorted(first.values())

    def reset(self) -> None:
        """The place as it was before a run."""
        place = self.folder / "place"
        if place.exists():
            shutil.rmtree(place)
        place.mkdir(parents=True)
        if (self.folder / "earlier").exists():
            shutil.copytree(self.folder / "earlier", self.out, copy_function=shutil.copy2)

    def run(self, effect: str = "", at: int = 0) -> Told:
        """One run, with a fault at its `at`-th change."""
        asked = Asked(self.writer.name, str(self.folder / "inputs"), str(self.out), effect=effect, at=at)
        return self.commands.run(replace(asked, has_exchange=self.has_exchange))

    def survives(self, effect: str, at: int) -> None:
        """Nothing, when a fault at the `at`-th change and another run after it leave what an unharmed run leaves."""
        self.reset()
        told = self.run(effect, at)
        where = f"{self.writer.name}, {effect} at {at}: {self.changes[at - 1]}"
        is_done = told.code == 0 and effect != KILL  # a fault that changes nothing, as in tidying up
        if effect == KILL:
            assert told.code == -9, (where, told)
        elif not is_done:
            self._check_refusal(where, effect, told)
        self._check_whole(where)
        if not is_done or effect == READ_ONLY:
            done = self.writer.finished(self.out)
            again = self.run()
            assert again.code == 0, (where, again)
            if self.writer.total:
                assert again.work == self.writer.total - done, (where, again.work, done)
        self._check_same(where)

    def _check_refusal(self, where: str, effect: str, told: Told) -> None:
        assert told.code == 2, (where, told)
        *before, last = told.error.splitlines()
        assert last.startswith("Error: ") and ERRORS[effect] in last, (where, told.error)
        # Progress, where a run takes seconds, and what was not understood on the way.
        assert all("/s" in line or line.startswith("Warning: ") for line in before), (where, told.error)
        if effect == FULL:
            assert leftovers(self.out.parent) == [], where

    def _check_whole(self, where: str) -> None:
        """No half file has the name of a whole one, before anybody tidies up."""
        found = {name: content for name, content in snapshot(self.out.parent).items() if not _is_hidden(name)}
        if self.writer.is_replaced and self.has_exchange:
            assert found in (self.earlier, self.whole), where
        for name, content in found.items():
            if content is not None and content not in (self.whole.get(name), self.earlier.get(name)):
                check_file(self.out.parent / name, where)

    def _check_same(self, where: str) -> None:
        assert leftovers(self.out.parent) == [], where
        found = snapshot(self.out.parent)
        assert found.keys() == self.whole.keys(), (where, sorted(found.keys() ^ self.whole.keys()))
        volatile = tuple(f"out/{name}" for name in self.writer.volatile)
        differing = [name for name, each in found.items() if each != self.whole[name] and name not in volatile]
        assert differing == [], where


def begin(commands: Commands, writer: Writer, folder: Path, has_exchange: bool = True) -> Trial:
    """The writer's inputs, its earlier results where they are replaced, and what a whole run leaves."""
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    trial = Trial(commands, writer, folder, {}, {}, (), has_exchange)
    trial.reset()
    prepared = commands.run(Asked(writer.name, str(inputs), str(trial.out), is_prepared=False))
    assert prepared.code == 0, prepared
    if writer.is_replaced:
        assert trial.run().code == 0
        (trial.out / "notes.txt").write_text("a person's own")
        shutil.copytree(trial.out, folder / "earlier")
        trial.reset()
    earlier = snapshot(trial.out.parent)
    told = trial.run()
    assert told.code == 0, told
    assert told.work == writer.total, told
    assert leftovers(trial.out.parent) == []
    whole = snapshot(trial.out.parent)
    trial = replace(trial, whole=whole, earlier=earlier, changes=tuple(told.changes))
    trial.reset()
    twice = trial.run()  # else a difference would say nothing
    assert sorted(twice.changes) == sorted(told.changes)
    trial._check_same(f"{writer.name}, unharmed")
    return trial


def leftovers(place: Path) -> list[str]:
    """Scratch folders, wherever they lie."""
    return [str(path.relative_to(place)) for path in place.rglob("*") if is_scratch(path.name)]


def check_file(path: Path, where: str) -> None:
    """Nothing, when a file can be read to its end as what its name says."""
    kind = path.suffix
    try:
        if kind == ".json":
            json.loads(path.read_text("utf-8"))
        elif kind == ".jsonl" or not kind:  # lines are added one by one: all but the last are whole
            for line in path.read_text("utf-8").split("\n")[:-1]:
                json.loads(line)
        elif kind == ".safetensors":
            load_file(path)
        elif kind in (".png", ".jpg"):
            with Image.open(path) as picture:
                picture.load()
        elif kind in (".npy", ".npz"):
            np.load(path)
        elif kind == ".onnx":
            onnx.checker.check_model(onnx.load(path))
        elif kind == ".zip":
            assert zipfile.ZipFile(path).testzip() is None
        elif kind == ".html":
            assert path.read_text("utf-8").rstrip().endswith("</html>")
        else:  # of a table or a text nobody could tell: it must be that of a whole run, and is not
            raise AssertionError("neither old nor new")
    except Exception as error:
        raise AssertionError(f"{where}: {path.name} is half a file ({error})") from error


def _is_hidden(name: str) -> bool:
    return any(is_scratch(part) for part in Path(name).parts)
