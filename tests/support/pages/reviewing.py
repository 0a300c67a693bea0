"""Sets to review, and the real command that serves them."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from locater.contrast.build import BuildRequest, build
from locater.datasets.catalog import open_dataset
from tests.support.making_contrasts import FakeLabeler, make_contrasting_a2d
from tests.support.pages.serving import served

PAIR = "two_0__one_0"  # a brown dog is running / walking on the grass


def make_set(folder: Path, **asked: Any) -> Path:
    """A small set, built in `folder`."""
    source = folder.with_name(f"{folder.name}_source")
    make_contrasting_a2d(source)
    build(open_dataset("a2d-sentences", source, "test"), FakeLabeler(), BuildRequest(folder, **asked))
    return folder


def decisions(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "decisions.jsonl").read_text("utf-8").splitlines()]


@contextmanager
def reviewing(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`locater contrast review` as a process of its own, with its address; gone at the end."""
    with served("contrast", "review", str(folder), "--no-browser", *options) as running:
        yield running
