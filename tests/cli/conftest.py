"""What the tests of every command are given."""

from pathlib import Path

import pytest

from tests.support.command_line.clips import FRAMES, two_sentence_checkpoint, write_video
from tests.support.command_line.running import Ran, Run, run_main


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """The command in this process; file descriptors are watched, so that FFmpeg's own words would show."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run_here(*arguments: object) -> Ran:
        return run_main(monkeypatch, capfd, *arguments)

    return run_here


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read alone: tests that damage one copy it."""
    return two_sentence_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip of twenty frames."""
    return write_video(tmp_path_factory.mktemp("video") / "clip.mp4", FRAMES)
