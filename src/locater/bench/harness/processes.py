"""What a command takes in a process of its own, descendants counted: seconds, seconds of all cores, and memory."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from locater.errors import LocaterError

_LONGEST = 3600.0  # seconds
# Runs the command, and then waits for all that it left behind: a system counts the time of those alone that somebody
# waited for, and gives orphans to the nearest "subreaper" above them (PR_SET_CHILD_SUBREAPER, 36; Linux alone).
_MEASURE = """
import ctypes, json, os, resource, subprocess, sys, time
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
seconds = time.perf_counter() - began
while True:
    try:
        os.wait()
    except ChildProcessError:
        break
used = resource.getrusage(resource.RUSAGE_CHILDREN)
peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([done.returncode, seconds, used.ru_utime + used.ru_stime, peak, done.stderr[-400:]]))
"""


@dataclass(frozen=True)
class Used:
    """What a command took."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int  # resident, of the largest of its processes


def measured(arguments: Sequence[str], threads: int) -> Used:
    """What `locater ARGUMENTS` takes from its start to its end; one sentence where it fails."""
    command = [sys.executable, "-c", _MEASURE, sys.executable, "-m", "locater", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_LONGEST, check=True)
    code, seconds, cpu_seconds, peak_bytes, said = json.loads(done.stdout)
    if code:
        raise LocaterError(f"`locater {arguments[0]}` ended with {code}: {' '.join(said.split())}")
    return Used(seconds, cpu_seconds, peak_bytes)
