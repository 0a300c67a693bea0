"""Runs the tests of mutants, each on a copy of the package with that one bug in it."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.record import Mutant

TESTS_PASSED, TESTS_FAILED = 0, 1  # pytest's exit codes


class Verdict(StrEnum):
    """What became of a mutant; all but `KILLED` are failures."""

    KILLED = "killed"
    SURVIVED = "survived"
    STALE = "stale"  # its old text or one of its tests is no longer there
    BROKEN = "broken"  # pytest could not run the tests, which tells nothing of them


@dataclass(frozen=True)
class Outcome:
    """One mutant's verdict."""

    mutant: Mutant
    verdict: Verdict
    seconds: float
    detail: str = ""


class FailingTestsError(Exception):
    """The tests fail without any bug, so that they could notice none."""


def run_mutants(
    mutants: Sequence[Mutant],
    project: Path,
    jobs: int = 1,
    seconds: float = 300.0,
    listen: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """The outcome of each, in their order; `jobs` at a time, at most `seconds` each."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[_Copy] = SimpleQueue()
        for number in range(jobs):
            copies.put(_Copy(project, Path(folder) / str(number), seconds))
        fitting = [mutant for mutant in mutants if not mutant.staleness(project)]
        if fitting:
            copy = copies.get()
            copy.check_tests(sorted({test for mutant in fitting for test in mutant.tests}))
            copies.put(copy)

        def run(mutant: Mutant) -> Outcome:
            copy = copies.get()
            try:
                outcome = copy.outcome(mutant)
            finally:
                copies.put(copy)
            listen(outcome)
            return outcome

        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(run, mutants))


class _Copy:
    """A project whose package is copied; its tests are its own."""

    def __init__(self, project: Path, folder: Path, seconds: float) -> None:
        self.project = project
        self.folder = folder
        self.seconds = seconds
        shutil.copytree(project / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(folder / "src"),
            "OMP_NUM_THREADS": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # half of pytest's start, and no test named here needs one
            # Hypothesis then draws the same at each run, keeps nothing of what a mutant failed on, and takes no slow
            # machine for a failure, which would pass for a kill.
            "CI": "true",
        }

    def check_tests(self, tests: Sequence[str]) -> None:
        """Nothing, when the tests pass, and on the copy."""
        where = [sys.executable, "-c", "import locater; print(locater.__file__)"]
        found = subprocess.run(where, env=self.environment, cwd=self.folder, capture_output=True, text=True, check=True)
        if not Path(found.stdout.strip()).is_relative_to(self.folder):
            raise FailingTestsError(f"the tests would import {found.stdout.strip()} rather than the copy")
        code, output = self._pytest(tests, seconds=None)
        if code != TESTS_PASSED:
            raise FailingTestsError(f"the tests fail without any mutant:\n{output[-4000:]}")

    def outcome(self, mutant: Mutant) -> Outcome:
        """The verdict on one mutant; the copy is as before afterwards."""
        stale = mutant.staleness(self.project)
        if stale:
            return Outcome(mutant, Verdict.STALE, 0.0, stale)
        path = mutant.source(self.folder)
        text = path.read_text(encoding="utf-8")
        started_at = time.monotonic()
        try:
            _write(path, mutant.applied(text))
            code, output = self._pytest(mutant.tests, self.seconds)
        finally:
            _write(path, text)
        verdict = {TESTS_PASSED: Verdict.SURVIVED, TESTS_FAILED: Verdict.KILLED, None: Verdict.KILLED}.get(
            code, Verdict.BROKEN
        )
        failed = [line for line in output.splitlines() if line.startswith("FAILED")]
        detail = (
            f"no answer in {self.seconds:.0f} s" if code is None else (failed or output.splitlines()[-1:] or [""])[0]
        )
        return Outcome(mutant, verdict, time.monotonic() - started_at, detail)

    def _pytest(self, tests: Sequence[str], seconds: float | None) -> tuple[int | None, str]:
        """pytest's exit code, None when it took too long, and what it said."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "--tb=short",
            "--show-capture=no",
        ]
        process = subprocess.Popen(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=self.project,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # so that commands which a test has started end with it
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
        return process.returncode, output


def _write(path: Path, text: str) -> None:
    """The text, without what was compiled of the one before: of the same size and second it would pass for it."""
    path.write_text(text, encoding="utf-8")
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
