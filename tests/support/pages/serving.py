"""Pages served by the real commands, and whoever asks them: a browser's requests, or an intruder's."""

import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.command_line.running import ENVIRONMENT

JSON = {"Content-Type": "application/json"}


class Client:
    """Requests to a server, with its token unless told otherwise."""

    def __init__(self, url: str) -> None:
        found = urlsplit(url)
        self.host = found.netloc
        self.token = parse_qs(found.query).get("token", [""])[0]

    def ask(
        self, path: str, body: Any = None, headers: Mapping[str, str] = JSON, method: str | None = None
    ) -> tuple[int, bytes, str]:
        """Status, content and kind of an answer."""
        connection = http.client.HTTPConnection(self.host, timeout=30)
        try:
            content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            given = {"Authorization": f"Bearer {self.token}", **headers}
            connection.request(method or ("GET" if body is None else "POST"), path, content, given)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers["Content-Type"]
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """What a JSON answer holds."""
        status, content, _ = self.ask(path)
        assert status == 200, content
        return json.loads(content)


@contextmanager
def served(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves a page as a process of its own, with its address; gone at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "locater", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
        # A shell's background jobs ignore Ctrl-C, and so would this if the tests ran in one.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    try:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.readline()
        found = re.search(r"http://\S+", first)
        assert found, first + process.stderr.read()
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()
