"""The command in this process, and a checkpoint small enough to run it with."""

import sys
from pathlib import Path

import pytest

from locater.cli import app as cli
from locater.config import preset
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.worlds.shapes import vocabulary


def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["locater", *map(str, arguments)])
    capfd.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main()
    text = capfd.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, text.out, text.err


def tiny_checkpoint(folder: Path) -> Path:
    """An untrained network of the tiny preset."""
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), 0), folder)
    return folder
