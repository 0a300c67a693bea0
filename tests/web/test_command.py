"""`locater web` and what a user can do wrong with it."""

import importlib.util
import socket
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from locater.cli import opening
from tests.support.command_line.running import Ran, run_main

Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: run_main(monkeypatch, capsys, "web", "--no-browser", *arguments)


def test_a_place_that_cannot_be_had_is_one_sentence(run: Run, checkpoint: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = run("--checkpoint", checkpoint, "--port", taken.getsockname()[1]).error
    assert "is in use; choose another --port" in said
    assert "choose another --host" in run("--checkpoint", checkpoint, "--host", "192.0.2.1").error
    assert "choose another --host" in run("--checkpoint", checkpoint, "--host", "no.such.host.invalid").error


def test_missing_libraries_are_one_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> ModuleSpec | None:
        return None if name == "uvicorn" else importlib.util.find_spec(name)

    monkeypatch.setattr(opening, "find_spec", find)
    assert run().error == "Error: Pages need uvicorn, which is not installed; run: pip install 'locater[web]'."
