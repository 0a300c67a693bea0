"""`locater bench` in this process, and what it left behind."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line.running import run_main


@dataclass(frozen=True)
class Ran:
    """What one call printed and wrote."""

    code: int
    out: str
    err: str
    folder: Path

    def report(self, name: str) -> dict[str, Any]:
        """The JSON of one benchmark."""
        found: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
        return found


def run_bench(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object
) -> Ran:
    """The real command with --quick on the tiny preset; later arguments win over these."""
    defaults = ("--out", folder, "--preset", "tiny", "--repeats", 2, "--device", "cpu", "--quick")
    name, *others = arguments
    ran = run_main(monkeypatch, capsys, "bench", name, *defaults, *others)
    return Ran(ran.code, ran.out, ran.err, folder)
