"""`locater live`: files, folders and pipes from what happens now."""

import signal
import subprocess
import time
from pathlib import Path

import av
import pytest

from locater.io.results_folder import MARKER
from tests.support.command_line.clips import DOG, FRAMES, write_video
from tests.support.command_line.running import ENVIRONMENT, Run, command, refused


def count(path: Path) -> int:
    with av.open(str(path)) as container:
        return sum(1 for _ in container.decode(video=0))


def test_a_file_a_folder_and_a_refusal(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    ran = run("live", video, DOG, "--checkpoint", checkpoint, "--out", tmp_path / "live.mp4")
    assert ran.code == 0, ran
    segmented = int(ran.out.split()[0])
    told = f"{segmented} of {FRAMES} frames segmented, {FRAMES - segmented} dropped, "
    assert ran.out.startswith(told) and "frames/s" in ran.out
    assert count(tmp_path / "live.mp4") == segmented
    assert "is there already; add --force" in refused(
        run, tmp_path, "live", video, DOG, "--checkpoint", checkpoint, "--out", tmp_path / "live.mp4"
    )
    options = ("--checkpoint", checkpoint, "--out", tmp_path / "folder", "--format", "rle", "--seconds", 0.2)
    assert run("live", video, DOG, *options).code == 0
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == [MARKER, "masks.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_keeps_what_was_segmented(
    checkpoint: Path, tmp_path: Path, number: signal.Signals
) -> None:
    video = write_video(tmp_path / "long.mp4", 1500)
    out = tmp_path / "stream.ts"
    with out.open("wb") as pipe:
        process = subprocess.Popen(
            command("live", video, DOG, "--checkpoint", checkpoint, "--out", "-"),
            env=ENVIRONMENT,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + 60
        while out.stat().st_size < 5000:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        told = process.communicate(timeout=30)[1]
    assert process.returncode == {signal.SIGINT: 0, signal.SIGTERM: 143}[number], told
    assert count(out) == int(told.splitlines()[-1].split()[0]) > 0
