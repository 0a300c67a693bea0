"""Ctrl-C and SIGTERM, in real processes: one line, the right exit code, nothing left, from the very start on."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command_line.clips import DOG, write_video
from tests.support.command_line.running import ENVIRONMENT, Run, command, snapshot

SAID = {signal.SIGINT: (130, "Interrupted"), signal.SIGTERM: (143, "Terminated")}


def started(*arguments: object) -> subprocess.Popen[str]:
    """The command as a shell starts it: in a process group of its own, which is what Ctrl-C goes to."""
    return subprocess.Popen(
        command(*arguments),
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )


def catches(number: signal.Signals, process: int) -> bool:
    """Whether the program has come so far: to its first own line for SIGTERM, which Python by itself leaves alone."""
    caught = next(
        line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("SigCgt")
    )
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def wait_until(process: subprocess.Popen[str], is_so: object) -> None:
    assert callable(is_so)
    deadline = time.monotonic() + 60
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.002)


def check_stopped(process: subprocess.Popen[str], number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        printed = process.communicate(timeout=30)
    finally:
        process.kill()
    code, said = SAID[number]
    *progress, last = printed[1].splitlines()
    assert (process.returncode, printed[0], last) == (code, "", f"{said}; nothing half-written is left.")
    assert all("frames/s" in line for line in progress), progress  # a busy machine comes to tell of it


@pytest.mark.parametrize(("number", "delay"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGINT, 0.4)])
def test_while_everything_is_being_imported(
    checkpoint: Path, video: Path, tmp_path: Path, number: signal.Signals, delay: float
) -> None:
    process = started("segment", video, DOG, "--checkpoint", checkpoint, "--out", tmp_path / "out")
    wait_until(process, lambda: catches(signal.SIGTERM, process.pid))
    time.sleep(delay)  # torch takes longer than that
    check_stopped(process, number)
    assert snapshot(tmp_path) == {}


def test_while_the_process_that_decodes_is_being_started(checkpoint: Path, video: Path, tmp_path: Path) -> None:
    process = started("segment", video, DOG, "--checkpoint", checkpoint, "--out", tmp_path / "out")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_until(process, lambda: children.read_text().strip())
    server = int(children.read_text().split()[0])
    wait_until(process, lambda: catches(signal.SIGINT, server))  # as every Python does, and soon no more
    check_stopped(process, signal.SIGINT)
    assert snapshot(tmp_path) == {}


@pytest.fixture(scope="module")
def long_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("long") / "long.mp4", 1500)


def test_sigterm_in_the_middle_cleans_up_and_says_so(checkpoint: Path, long_video: Path, tmp_path: Path) -> None:
    process = started(
        *("segment", long_video, DOG, "--checkpoint", checkpoint, "--out", tmp_path / "new" / "out", "--format", "png")
    )
    wait_until(process, lambda: list(tmp_path.glob("new/.*/new/masks/00020.png")))
    check_stopped(process, signal.SIGTERM)
    assert snapshot(tmp_path) == {}


def test_a_killed_run_is_tidied_up_by_the_next(
    run: Run, checkpoint: Path, video: Path, long_video: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    process = started("segment", long_video, DOG, "--checkpoint", checkpoint, "--out", out, "--format", "png")
    wait_until(process, lambda: list(tmp_path.glob(".*/new/masks/00020.png")))
    process.kill()
    process.communicate()
    assert len(list(tmp_path.glob(".out.*.partial"))) == 1 and not out.exists()
    assert run("segment", video, DOG, "--checkpoint", checkpoint, "--out", out, "--format", "rle").code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
