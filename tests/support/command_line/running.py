"""What a command printed and how it ended, run in this process or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from locater.cli import app as cli


@dataclass(frozen=True)
class Ran:
    """What a command left behind, but for its files."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line on standard error that a refusal is."""
        assert self.code == 2, self
        assert self.err.endswith("\n") and self.err.count("\n") == 1, self.err
        assert self.err.startswith("Error: "), self.err
        assert self.out == "", self.out
        return self.err.strip()


Run = Callable[..., Ran]


def run_main(monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str], *arguments: object) -> Ran:
    """The command in this process."""
    monkeypatch.setattr(sys, "argv", ["locater", *map(str, arguments)])
    capture.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main()
    text = capture.readouterr()
    assert isinstance(stop.value.code, int)
    return Ran(stop.value.code, text.out, text.err)


# Sets what a shell would have set, then becomes the command. (A background shell ignores SIGINT for its children.)
START = """
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
if int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
os.execv(sys.executable, [sys.executable, "-m", "locater", *sys.argv[2:]])
"""
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != "FORCE_COLOR"},
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def command(*arguments: object, file_limit: int = 0) -> list[str]:
    """The words that start it in a process of its own."""
    return [sys.executable, "-c", START, str(file_limit), *map(str, arguments)]


def run_process(*arguments: object, file_limit: int = 0, cwd: Path | None = None, timeout: float = 120) -> Ran:
    """The command in a process of its own; no file of it may grow past `file_limit` bytes, 0 being any size."""
    done = subprocess.run(
        command(*arguments, file_limit=file_limit),
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder: its files' content, None for a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def refused(run: Run, place: Path, *arguments: object) -> str:
    """The one line of a refusal that left everything below `place` as it was."""
    before = snapshot(place)
    told = run(*arguments).error
    assert snapshot(place) == before
    return told
