"""The page under many users: the real server in a process of its own, real requests on this machine alone."""

import http.client
import io
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

import av
import numpy as np

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.errors import LocaterError

SENTENCE = "the red circle on the left"
FRAMES, QUICK_FRAMES = 24, 4
SECONDS, QUICK_SECONDS = 900.0, 120.0  # that all of it may take
_SIDE, _SETTLED_SECONDS = 128, 3.0
_OK, _ACCEPTED = 200, 202


@dataclass
class Asked:
    """What every user's requests took, by their kind; and those that were not answered as they should be."""

    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def add(self, kind: str, seconds: float) -> None:
        """One answer."""
        with self._lock:
            self.milliseconds.setdefault(kind, []).append(1e3 * seconds)

    def fail(self, what: str) -> None:
        """One that is missing."""
        with self._lock:
            self.wrong.append(what)


class User:
    """One person with a browser: opens the page and a clip, asks, looks at pictures and masks meanwhile."""

    def __init__(self, url: str, number: int, asked: Asked, deadline: float) -> None:
        found = urlsplit(url)
        self._place, self._asked, self._deadline = found.netloc, asked, deadline
        token = parse_qs(found.query)["token"][0]
        who = f"{number:022d}"  # as the page's own cookie
        self._headers = {"Authorization": f"Bearer {token}", "Cookie": f"locater-client-{found.port}={who}"}

    def use(self, clip: bytes) -> None:
        """From opening the page to closing the clip."""
        try:
            self._use(clip)
        except (OSError, http.client.HTTPException, ValueError, KeyError, TimeoutError) as error:
            self._asked.fail(f"{type(error).__name__}: {error}")

    def _use(self, clip: bytes) -> None:
        self._ask("the page", "/")
        self._ask("its settings", "/api/page")
        key = self._ask("upload", "/api/clips", clip, {"X-File-Name": "clip.mp4"})["key"]
        wanted = {"sentences": [SENTENCE], "corrections": [], "anyway": True}
        began = time.perf_counter()
        number = self._ask("asking for masks", f"/api/clips/{key}/runs", wanted)["number"]
        state: dict[str, Any] = {}
        for news in self._news(key):
            state |= news.get("state", {}).get("run") or {}
            told = news.get("frames")
            if told:
                self._ask("a mask", f"/api/clips/{key}/masks/{number}/{told['first']}")
                self._ask("a picture", f"/api/clips/{key}/frames/{told['first']}")
            if state.get("status") in ("done", "cancelled", "failed"):
                break
        if state.get("status") != "done":
            self._asked.fail(f"a clip ended as {state.get('status')}")
        self._asked.add("a clip, from asking to its last mask", time.perf_counter() - began)
        self._ask("closing", f"/api/clips/{key}/close", {})

    def _ask(self, kind: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """What an answer holds, timed to its last byte."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {**self._headers, **(headers or {"Content-Type": "application/json"})}
        began = time.perf_counter()
        connection = http.client.HTTPConnection(self._place, timeout=self._left())
        try:
            connection.request("GET" if body is None else "POST", path, content, given)
            answer = connection.getresponse()
            got = answer.read()
        finally:
            connection.close()
        self._asked.add(kind, time.perf_counter() - began)
        if answer.status not in (_OK, _ACCEPTED):
            raise ValueError(f"{kind} was answered by {answer.status}")
        return json.loads(got) if "json" in (answer.headers["Content-Type"] or "") else got

    def _news(self, key: str) -> Iterator[dict[str, Any]]:
        connection = http.client.HTTPConnection(self._place, timeout=self._left())
        try:
            connection.request("GET", f"/api/clips/{key}/events", headers=self._headers)
            answer = connection.getresponse()
            while line := answer.readline():
                self._left()
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the benchmark's time is over")
        return left


def run(request: BenchRequest) -> Report:
    """Let so many people use the page at once, each with a clip of their own."""
    if sys.platform != "linux":
        raise LocaterError("The load's memory is told by Linux alone; run this benchmark there.")
    frames, seconds = (QUICK_FRAMES, QUICK_SECONDS) if request.is_quick else (FRAMES, SECONDS)
    clip, asked = _clip(frames), Asked()
    with _served(request) as (process, url):
        before = _resident(process.pid)
        began = time.monotonic()
        people = [User(url, number, asked, began + seconds) for number in range(request.users)]
        with ThreadPoolExecutor(request.users) as at_once:
            list(at_once.map(lambda user: user.use(clip), people))
        lasted = time.monotonic() - began
        time.sleep(_SETTLED_SECONDS)  # decoders end, what is freed goes back
        after, most = _resident(process.pid), _resident(process.pid, "VmHWM")
        is_alive = process.poll() is None
    return _report(request, asked, frames, lasted, (before, most, after), is_alive)


def _report(
    request: BenchRequest,
    asked: Asked,
    frames: int,
    seconds: float,
    resident: tuple[int, int, int],
    is_alive: bool,
) -> Report:
    rows: list[Row] = [_row(kind, found) for kind, found in asked.milliseconds.items()]
    before, most, after = (each / 1e6 for each in resident)
    answers = sum(row["answers"] for row in rows)
    return Report(
        name="load",
        title=f"`locater web` under {request.users} users, checkpoint {request.trained}, clips of {frames} frames of "
        f"{_SIDE} pixels",
        timed="requests from this machine, from connecting to the answer's last byte, all users at once; a clip is "
        "timed from asking to its last mask, its wait in line included.",
        columns=("what", "answers", "median_ms", "p95_ms", "highest_ms"),
        chart=Bars("Half of the answers came within", "ms", {row["what"]: row["median_ms"] for row in rows}),
        rows=rows,
        checks=[
            Check("requests and clips that went wrong", len(asked.wrong), 0),
            Check("clips that are missing", request.users - _count(asked, "closing"), 0),
            Check("servers that ended by themselves", float(not is_alive), 0),
        ],
        notes=[
            f"{answers} answers in {seconds:.1f} s; {request.users * frames / seconds:.1f} frames/s for all together.",
            f"The server's resident memory: {before:.0f} MB before, at most {most:.0f} MB, {after:.0f} MB after.",
            *(f"Wrong: {each}" for each in sorted(set(asked.wrong))),
        ],
    )


def _row(kind: str, found: list[float]) -> Row:
    p95 = quantiles(found, n=20, method="inclusive")[-1] if len(found) > 1 else found[0]
    return {"what": kind, "answers": len(found), "median_ms": median(found), "p95_ms": p95, "highest_ms": max(found)}


def _count(asked: Asked, kind: str) -> int:
    return len(asked.milliseconds.get(kind, ()))


def _clip(frames: int) -> bytes:
    """A small mp4 of colours that move."""
    content = io.BytesIO()
    picture = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    large = np.kron(picture, np.ones((_SIDE // 8, _SIDE // 8, 1), np.uint8))
    with av.open(content, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=24)
        stream.width, stream.height, stream.pix_fmt = _SIDE, _SIDE, "yuv420p"
        for index in range(frames):
            frame = av.VideoFrame.from_ndarray(np.roll(large, 2 * index, axis=1), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return content.getvalue()


@contextmanager
def _served(request: BenchRequest) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The real command on a free port of this machine alone, with its address; ended as by Ctrl-C."""
    words = ("web", "--no-browser", "--checkpoint", request.trained, "--device", str(request.device))
    process = subprocess.Popen(
        [sys.executable, "-m", "locater", *words, "--precision", request.precision],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        if found is None:
            _, error = process.communicate(timeout=30)
            raise LocaterError(f"The page did not start: {error.strip().removeprefix('Error: ') or 'no reason given'}")
        yield process, found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        _ended(process.communicate)
        process.kill()


def _ended(communicate: Callable[..., Any]) -> None:
    try:
        communicate(timeout=30)
    except subprocess.TimeoutExpired:
        return


def _resident(process: int, name: str = "VmRSS") -> int:
    lines = Path(f"/proc/{process}/status").read_text("ascii").splitlines()
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith(name)), 0)
