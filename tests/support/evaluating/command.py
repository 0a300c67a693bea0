"""The command in this process, and a checkpoint small enough to run it with."""

from pathlib import Path

import pytest

from locater.config import preset
from locater.model.build import build
from locater.model.checkpoint import save_pretrained
from locater.worlds.shapes import vocabulary
from tests.support.command_line.running import run_main


def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    ran = run_main(monkeypatch, capfd, *arguments)
    return ran.code, ran.out, ran.err


def tiny_checkpoint(folder: Path) -> Path:
    """An untrained network of the tiny preset."""
    save_pretrained(build(preset("tiny", {"text": {"vocabulary": vocabulary()}}), 0), folder)
    return folder
