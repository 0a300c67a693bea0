"""Places that cannot be written, full disks and Ctrl-C; real processes where the process is the claim."""

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from locater.cli import segment as segment_command
from tests.support.command_line.clips import ALL_FORMATS, DOG, OTHER, write_video
from tests.support.command_line.running import ENVIRONMENT, Run, command, refused, run_process, snapshot


@pytest.mark.parametrize("place", ["under_a_file", "on_a_file", "read_only"])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may write to a folder that forbids it, so a file and the kernel's own /proc stand in its way."""
    (tmp_path / "file").write_text("mine")
    out = {"under_a_file": tmp_path / "file" / "out", "on_a_file": tmp_path / "file", "read_only": Path("/proc/out")}
    told = f"Cannot write {out[place]}: "
    assert told in refused(run, tmp_path, "init", "tiny", "--out", out[place])
    monkeypatch.setattr(segment_command, "_write_results", None)  # never reached
    assert told in refused(run, tmp_path, "segment", video, DOG, "--checkpoint", checkpoint, "--out", out[place])


@pytest.mark.parametrize(("name", "limit"), [("overlay", 2000), ("png", 60), ("rle", 500), ("sheet", 3000)])
def test_a_full_disk_is_one_line_and_leaves_nothing(
    checkpoint: Path, video: Path, tmp_path: Path, name: str, limit: int
) -> None:
    """The system refuses to let a file grow, as on a full disk, and every writer meets it."""
    out = tmp_path / "new" / "out"
    arguments = ("segment", video, DOG, OTHER, "--checkpoint", checkpoint, "--out", out, "--format", name)
    told = run_process(*arguments, file_limit=limit).error
    assert told == f"Error: Cannot write {out}: file too large; choose another place with enough room."
    assert snapshot(tmp_path) == {}


def test_a_checkpoint_on_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """safetensors has an error of its own for it."""
    told = run_process("init", "tiny", "--out", tmp_path / "new" / "out", file_limit=50_000).error
    assert "file too large" in told
    assert snapshot(tmp_path) == {}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB, where the system lets us make one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        allowed = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting a file system is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full_or_read_only(run: Run, checkpoint: Path, video: Path, small_disk: Path) -> None:
    arguments = ("segment", video, DOG, "--checkpoint", checkpoint, "--out", small_disk / "new" / "out")
    assert "no space left on device" in refused(run, small_disk, *arguments, "--format", ALL_FORMATS)
    assert "no space left on device" in refused(run, small_disk, "init", "tiny", "--out", small_disk / "tiny")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    assert "read-only file system" in refused(run, small_disk, *arguments)
    assert "read-only file system" in refused(run, small_disk, "init", "tiny", "--out", small_disk / "tiny")


def test_ctrl_c_in_the_middle_leaves_nothing(checkpoint: Path, tmp_path: Path) -> None:
    video = write_video(tmp_path / "long.mp4", 3000)
    out = tmp_path / "new" / "out"
    before = snapshot(tmp_path)
    arguments = ("segment", video, DOG, "--checkpoint", checkpoint, "--out", out, "--format", ALL_FORMATS)
    process = subprocess.Popen(
        command(*arguments), env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("new/.*/new/masks/00020.png")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no mask after a minute"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, printed
    assert printed == ("", "Interrupted; nothing half-written is left.\n")
    assert snapshot(tmp_path) == before
