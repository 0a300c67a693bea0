"""The real command on a real local Ray, with workers killed; a few videos here, five hundred as a proof."""

import csv
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.support.command_line.clips import DOG, OTHER, bad_video, write_video
from tests.support.command_line.running import ENVIRONMENT, Ran, command, run_process, snapshot

WORKER = "ray::MapWorker"
BAD = ("text", "empty", "frameless", "sound", "cut_before_index", "missing")
FORMATS = "png,rle"
BESIDE = {".batch.json", ".locater.json"}  # what differs from the folders of `locater segment`


@dataclass(frozen=True)
class Made:
    """A manifest and what its videos are."""

    manifest: Path
    good: tuple[Path, ...]
    bad: tuple[str, ...]


def make(folder: Path, videos: int, broken: int) -> Made:
    """So many videos, the broken ones evenly among them."""
    folder.mkdir()
    every = videos // broken
    lines, good, bad = ["video,sentence,sentence"], list[Path](), list[str]()
    for number in range(videos):
        if number % every == every - 1 and len(bad) < broken:
            kind = BAD[len(bad) % len(BAD)]
            made = bad_video(kind, folder)
            name = folder / f"bad{number}.mp4"
            if made.exists():
                made.replace(name)
            bad.append(name.stem)
            lines.append(f"{name.name},{DOG},{OTHER}")
        else:
            good.append(write_video(folder / f"clip{number}.mp4", 9 + number % 24, seed=number))
            lines.append(f"{good[-1].name},{DOG},{OTHER}")
    assert len(bad) == broken
    (folder / "list.csv").write_text("\n".join(lines) + "\n")
    return Made(folder / "list.csv", tuple(good), tuple(bad))


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The actors that are at work, on a row right now."""
    found = []
    for each in psutil.Process(process.pid).children(recursive=True):
        try:
            if each.name().startswith(WORKER[:15]) and ".submit" in " ".join(each.cmdline()):
                found.append(each)
        except psutil.NoSuchProcess:
            continue
    return found


def finished(out: Path) -> dict[str, tuple[int, int]]:
    """Every finished video, and what tells whether its results were ever replaced."""
    found = {}
    for path in out.glob("*/masks.json"):
        facts = path.stat()
        found[path.parent.name] = (facts.st_ino, facts.st_mtime_ns)
    return found


def run_and_kill(
    arguments: Sequence[object], out: Path, at: Sequence[int]
) -> tuple[Ran, list[dict[str, tuple[int, int]]]]:
    """The command, a worker of which is killed whenever so many videos are finished; and what was finished then."""
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    seen = []
    for count in at:
        while len(finished(out)) < count or not (workers := workers_of(process)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        started = psutil.Process(process.pid).children(recursive=True)
        workers[0].send_signal(signal.SIGKILL)
        seen.append(finished(out))
    out_text, err_text = process.communicate(timeout=1800)
    check_gone(started)
    return Ran(process.returncode, out_text, err_text), seen


def check_gone(processes: Sequence[psutil.Process]) -> None:
    """Nothing of a Ray of our own is left running."""
    assert len(processes) > 3  # raylet, gcs_server, workers
    _, alive = psutil.wait_procs(processes, timeout=10)
    assert alive == []


def table(path: Path) -> dict[str, dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def content(folder: Path) -> dict[str, bytes | None]:
    return {name: each for name, each in snapshot(folder).items() if name not in BESIDE}


def check_job(tmp_path: Path, checkpoint: Path, videos: int, broken: int, kills: Sequence[int]) -> None:
    """All that issue 21 asks of a job with broken videos and killed workers."""
    made = make(tmp_path / "videos", videos, broken)
    out = tmp_path / "out"
    options = ("--checkpoint", checkpoint, "--format", FORMATS)
    arguments = ("batch", made.manifest, "--out", out, *options, "--workers", 2)
    began = time.monotonic()
    ran, seen = run_and_kill(arguments, out, kills)
    print(f"batch: {time.monotonic() - began:.1f} s; {ran.out.strip()}")
    assert ran.code == 2 and f"{broken} of {videos} videos failed" in ran.err, ran
    assert f"{len(made.good)} videos segmented, {broken} failed" in ran.out, ran
    assert ran.err.count("\n") == broken + 1 or "videos (" in ran.err, ran.err  # failures, the end, and progress

    summary, failed = table(out / "summary.csv"), table(out / "failed.csv")
    assert set(failed) == set(made.bad) and all(row["reason"] for row in failed.values())
    assert {name for name, row in summary.items() if row["status"] == "done"} == {path.stem for path in made.good}

    after = finished(out)
    assert set(after) == {path.stem for path in made.good}
    for then in seen:  # what was finished when a worker died was not touched again
        assert then and {name: after[name] for name in then} == then

    began = time.monotonic()
    sentences = ("--sentence", DOG, "--sentence", OTHER)
    alone = run_process("segment", *made.good, *sentences, "--out", tmp_path / "alone", *options, timeout=1800)
    print(f"one process: {time.monotonic() - began:.1f} s")
    assert alone.code == 0, alone
    differing = [path.stem for path in made.good if content(out / path.stem) != content(tmp_path / "alone" / path.stem)]
    assert differing == []

    again = run_process(*arguments, timeout=1800)
    assert f"0 videos segmented, {len(made.good)} already done, {broken} failed" in again.out, again
    assert finished(out) == after
    left = [
        path.name for path in out.iterdir() if path.name.startswith(".") and path.name not in (".batch", ".job.json")
    ]
    assert left == []


@pytest.mark.slow
def test_broken_videos_and_a_killed_worker_cost_nothing_else(tmp_path: Path, checkpoint: Path) -> None:
    check_job(tmp_path, checkpoint, videos=6, broken=2, kills=(2,))


@pytest.mark.proof
def test_five_hundred_videos_with_broken_ones_and_a_worker_killed_twice(tmp_path: Path, checkpoint: Path) -> None:
    check_job(tmp_path, checkpoint, videos=500, broken=25, kills=(100, 300))


@pytest.mark.proof
def test_a_video_that_kills_its_worker_every_time_is_given_up(tmp_path: Path, checkpoint: Path) -> None:
    made = make(tmp_path / "videos", videos=6, broken=1)
    poison = write_video(tmp_path / "videos" / "poison.mp4", 4000)
    with made.manifest.open("a") as file:
        file.write(f"{poison.name},{DOG},{OTHER}\n")
    out = tmp_path / "out"
    arguments = ("batch", made.manifest, "--out", out, "--checkpoint", checkpoint, "--workers", 2, "--save-every", 600)
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    killed = 0
    while process.poll() is None:
        for each in workers_of(process):
            try:
                # The file is open in the worker while it is hashed, and then in the process that decodes it.
                files = [file for part in (each, *each.children(recursive=True)) for file in part.open_files()]
                if any(file.path == str(poison) for file in files):
                    each.send_signal(signal.SIGKILL)
                    killed += 1
            except psutil.Error:
                continue
        time.sleep(0.05)
    process.communicate()
    assert killed == 3
    failed = table(out / "failed.csv")
    assert set(failed) == {"poison", *made.bad}
    assert failed["poison"]["reason"].startswith("The worker died 3 times on it, each time after frame 0")
    assert set(finished(out)) == {path.stem for path in made.good}


@pytest.mark.proof
def test_a_terminated_job_leaves_nothing_running_and_goes_on_from_what_it_saved(
    tmp_path: Path, checkpoint: Path
) -> None:
    (tmp_path / "videos").mkdir()
    video = write_video(tmp_path / "videos" / "long.mp4", 3000)
    (tmp_path / "list.csv").write_text(f"video,sentence\n{video},{DOG}\n")
    out = tmp_path / "out"
    options = ("--checkpoint", checkpoint, "--format", FORMATS)
    arguments = ("batch", tmp_path / "list.csv", "--out", out, *options, "--workers", 1, "--save-every", 1)
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    while not list(out.glob(".batch/work/*/*/0-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    started = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143 and said.endswith("Terminated; nothing half-written is left.\n"), said
    check_gone(started)
    assert table(out / "summary.csv")["long"]["status"] == "left"
    assert not list(out.glob(".long.*"))
    assert run_process(*arguments, timeout=600).code == 0
    assert int(table(out / "summary.csv")["long"]["resumed_from"]) > 0
    assert run_process("segment", video, DOG, "--out", tmp_path / "alone", *options, timeout=600).code == 0
    assert content(out / "long") == content(tmp_path / "alone")
