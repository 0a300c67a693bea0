"""Whoever uses the page that segments, without a browser."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

from tests.support.pages.serving import Client


class PageClient(Client):
    """One person's requests; `who` has 22 letters, as the page's cookie."""

    def __init__(self, url: str, who: str = "") -> None:
        super().__init__(url)
        port = self.host.rpartition(":")[2]
        self.cookie = {"Cookie": f"locater-client-{port}={who}"} if who else {}

    def upload(self, content: bytes, name: str = "clip.mp4") -> tuple[int, Any]:
        """Status and answer of an upload."""
        status, answer, _ = self.ask("/api/clips", content, {"X-File-Name": name, **self.cookie})
        return status, json.loads(answer)

    def opened(self, content: bytes) -> str:
        """The key of an uploaded clip."""
        status, answer = self.upload(content)
        assert status == 200, answer
        return str(answer["key"])

    def run(self, key: str, sentences: list[str], corrections: Any = ()) -> int:
        """The number of a run that was begun."""
        asked = {"sentences": sentences, "corrections": list(corrections)}
        status, answer, _ = self.ask(f"/api/clips/{key}/runs", asked)
        assert status == 202, answer
        return int(json.loads(answer)["number"])

    def news(self, key: str) -> Iterator[Any]:
        """What the server tells, as it tells it."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request("GET", f"/api/clips/{key}/events", headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            assert answer.status == 200
            while line := answer.readline():
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        finally:
            connection.close()

    def finished(self, key: str) -> tuple[Any, list[Any]]:
        """The run when it is over, and each frame's scores and areas."""
        frames: list[Any] = []
        for news in self.news(key):
            told = news.get("frames")
            if told:
                frames[told["first"] :] = zip(told["scores"], told["areas"], strict=True)
            run = news.get("state", {}).get("run")
            if run and run["status"] in ("done", "cancelled", "failed"):
                return run, frames
        raise AssertionError("the clip is gone")
