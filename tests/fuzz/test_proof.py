"""Thousands of damaged files through the real command: it never dies, hangs or takes more memory than it may."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from locater.errors import LocaterError
from locater.records import VideoState
from tests.fuzz.damage import damaged
from tests.fuzz.targets import TARGETS, made_videos
from tests.support.command_line.clips import DOG, two_sentence_checkpoint
from tests.support.command_line.running import Run, run_main

AT_ONCE = 100  # files a command
SECONDS_OF_A_FILE = 60.0
GIGABYTES = 0.5
ROOM = 0.3 * 2**30  # bytes of a decoder that are not data: libraries and pixels on their way

_COMMAND = (sys.executable, "-m", "locater", "segment", "--format", "rle", "--anyway", "--device", "cpu")
_KNOWN_LINES = ("Error: ", "Warning: ", "segmenting", "looking")


class _Watch:
    """The most memory that any decoder of a command took."""

    def __init__(self, process: psutil.Process) -> None:
        self.most = 0
        self._process = process
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while self._process.is_running():
            try:
                for server in self._process.children():
                    for decoder in server.children():
                        self.most = max(self.most, decoder.memory_info().rss)
            except psutil.Error:
                pass
            time.sleep(0.05)


def segment_damaged(folder: Path, checkpoint: Path, first: int, count: int) -> tuple[int, int, int]:
    """How many of `count` damaged files were segmented and refused by one command, and a decoder's most memory."""
    whole = folder / "whole"
    whole.mkdir(exist_ok=True)
    paths = made_videos(whole)
    corpus = [path.read_bytes() for path in paths]
    videos = []
    for number in range(first, first + count):
        path = paths[number % len(paths)]
        video = folder / f"{number}{path.suffix}"
        video.write_bytes(damaged(corpus[number % len(paths)], corpus, number))
        videos.append(str(video))
    run = subprocess.Popen(
        [*_COMMAND, *videos, DOG, "--checkpoint", str(checkpoint), "--out", str(folder / f"out{first}")],
        env={**os.environ, "LOCATER_LIMITS": f"gigabytes={GIGABYTES} stall_seconds=20", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watch = _Watch(psutil.Process(run.pid))
    out, err = run.communicate(timeout=SECONDS_OF_A_FILE * count)
    assert run.returncode in (0, 2), err
    said = [line for line in err.splitlines() if line.startswith("Error: ")]
    others = [
        line for line in err.splitlines() if not line.startswith(("Error: ", "Warning: ", "segmenting", "looking"))
    ]
    assert all("damaged packets were skipped" in line or "sound" in line for line in others), others[:5]
    done, failed = out.count(" frames segmented into "), sum(str(folder) in line for line in said[:-1])
    assert done + failed == count, (done, failed, err[-2000:])
    assert "Traceback" not in err
    return done, failed, watch.most


def prove(folder: Path, count: int, first: int = 0) -> None:
    checkpoint = two_sentence_checkpoint(folder / "checkpoint")
    done = failed = most = 0
    slowest = 0.0
    for start in range(first, first + count, AT_ONCE):
        began = time.monotonic()
        found = segment_damaged(folder, checkpoint, start, min(AT_ONCE, first + count - start))
        slowest = max(slowest, time.monotonic() - began)
        done, failed, most = done + found[0], failed + found[1], max(most, found[2])
    print(f"{done} segmented, {failed} refused, {most / 2**20:.0f} MiB, slowest {AT_ONCE} in {slowest:.0f} s")
    assert done + failed == count and done and failed
    assert most < GIGABYTES * 2**30 + ROOM


@pytest.mark.proof
@pytest.mark.parametrize("first", range(0, 5000, 1000))
def test_5000_damaged_files(tmp_path: Path, first: int) -> None:
    prove(tmp_path, 1000, first)


def test_a_slice_of_them(tmp_path: Path) -> None:
    prove(tmp_path, 20)


def hostile(run: Run, folder: Path, name: str, count: int, first: int) -> tuple[int, int]:
    """How many of a target's damaged inputs were harmless, and how many refused in one line with exit code 2."""
    target, place = TARGETS[name], folder / name
    for each in ("whole", "damaged"):
        (place / each).mkdir(parents=True)
    corpus = target.corpus(place / "whole")
    harmless = refused = 0
    for number in range(first, first + count):
        content = damaged(corpus[number % len(corpus)], corpus, number)
        is_read = target.run(content, place / "damaged")
        if name == "config":
            ran = run("info", place / "damaged" / "checkpoint")
            assert ran.code == (0 if is_read else 2), ran
            assert is_read or ran.error
        elif name == "manifest":
            table = place / "table"
            table.mkdir(exist_ok=True)
            (table / "sentences.jsonl").write_bytes(content)
            ran = run("data", "check", f"folder:{table}")
            assert ran.code in (0, 2) and ran.err == "", ran
            assert ran.code == 0 or ran.out.endswith(("1 problem with the files.\n", "problems with the files.\n")), ran
        harmless, refused = harmless + is_read, refused + (not is_read)
    return harmless, refused


@pytest.mark.proof
@pytest.mark.parametrize("name", ["config", "state", "manifest"])
def test_1000_hostile_configs_states_and_manifests(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> object:
        return run_main(monkeypatch, capsys, *arguments)

    harmless, refused = hostile(run, tmp_path, name, 1000, 10_000)  # type: ignore[arg-type]
    with capsys.disabled():
        print(f"{name}: {harmless} harmless, {refused} refused")
    assert refused > 300


def test_states_that_are_json_are_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text(json.dumps({"frame_index": 1}))
    with pytest.raises(LocaterError):
        VideoState.load(tmp_path / "state")
