"""`python -m tests.video.guarded.cost VIDEO`: CPU seconds of decoding a file in this process and in a child."""

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import psutil

from locater.video.file_source import VideoFile
from locater.video.guarded import processes
from locater.video.guarded.source import guarded_video

READINGS = 4


def main() -> None:
    """Print both, measured in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", type=Path)
    parser.add_argument("--kind", choices=("here", "child"), help="measure this alone, once")
    asked = parser.parse_args()
    if asked.kind is not None:
        print(_cpu_seconds(asked.video, is_guarded=asked.kind == "child"))
        return
    for _ in range(3):
        for kind in ("here", "child"):
            run = [sys.executable, "-m", "tests.video.guarded.cost", str(asked.video), "--kind", kind]
            print(kind, subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip())


def _cpu_seconds(path: Path, is_guarded: bool) -> str:
    if is_guarded:
        processes.start_decoders()
        next(guarded_video(path).frames())  # what starting takes is not decoding
        spent = sum(sum(each.cpu_times()[:4]) for each in psutil.Process().children())
    began = time.process_time()
    for _ in range(READINGS):
        frames = sum(1 for _ in (guarded_video(path) if is_guarded else VideoFile(path)).frames())
    here = time.process_time() - began
    elsewhere = 0.0
    if is_guarded:
        server = processes._SERVER
        assert server._control is not None and server._process is not None
        server._control.close()
        server._process.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        elsewhere = used.ru_utime + used.ru_stime - spent
    return f"{(here + elsewhere) / READINGS / frames * 1000:.2f} ms a frame"


if __name__ == "__main__":
    main()
