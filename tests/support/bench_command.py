"""`locater bench` in this process, and what it left behind."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from locater.cli import app as cli


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
    monkeypatch.setattr(sys, "argv", ["locater", "bench", *map(str, (name, *defaults, *others))])
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main()
    text = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return Ran(stop.value.code, text.out, text.err, folder)
