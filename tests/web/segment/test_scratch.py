"""Uploads lie in a private folder that goes with its server, or with the next one."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from locater.errors import LocaterError
from locater.web.segment.scratch import Scratch

KILLED = """
import os, signal
from locater.web.segment.scratch import Scratch
made = Scratch()
(made.folder() / "clip").write_text("private")
print(made.root, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_nobody_else_may_read_it_and_it_goes(place: Path) -> None:
    with Scratch() as scratch:
        folder = scratch.folder()
        for made in (scratch.root, folder):
            assert stat.S_IMODE(made.stat().st_mode) == 0o700
        (folder / "clip").write_bytes(b"x")
        with pytest.raises(LocaterError, match="disk is nearly full"):
            scratch.check_room(2**60)
    assert list(place.iterdir()) == []


def test_what_a_killed_server_left_is_removed_and_nothing_else(place: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(place)}
    run = [sys.executable, "-c", KILLED]
    left = Path(subprocess.run(run, env=environment, capture_output=True, text=True, check=False).stdout.strip())
    assert (left / "lock").exists() and left.parent == place
    own = place / "locater-web-mine"
    own.mkdir()
    (place / "locater-web-link").symlink_to(own)
    with Scratch() as living, Scratch():
        assert not left.exists() and living.root.exists() and own.exists()
