"""What tests of pages are given: a network that knows two sentences, clips, and a server in this process."""

import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from locater.inference.segmenter import NotUnderstoodWarning, Segmenter, load
from locater.video.guarded.processes import start_decoders
from locater.web.segment.limits import Limits
from locater.web.segment.server import SegmentServer
from tests.support.command_line.clips import two_sentence_checkpoint, write_video
from tests.support.pages.browser import browser  # noqa: F401 (a fixture)

Serve = Callable[..., SegmentServer]


@pytest.fixture(scope="session", autouse=True)
def decoders() -> None:
    start_decoders()


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_sentence_checkpoint(tmp_path_factory.mktemp("web") / "checkpoint")


@pytest.fixture(scope="session")
def segmenter(checkpoint: Path) -> Segmenter:
    warnings.simplefilter("ignore", NotUnderstoodWarning)
    return load(checkpoint)


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty frames of 96 x 64."""
    return write_video(tmp_path_factory.mktemp("web") / "clip.mp4", 20)


@pytest.fixture(scope="session")
def short_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine frames: two chunks."""
    return write_video(tmp_path_factory.mktemp("web") / "clip.mp4", 9)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the servers of a module's tests keep their files."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(scope="module")
def server(place: Path, segmenter: Segmenter) -> Iterator[SegmentServer]:
    """A server with the usual limits."""
    with running(segmenter, Limits()) as server:
        yield server
    assert not list(place.glob("locater-web-*"))


@pytest.fixture
def serve(place: Path, segmenter: Segmenter) -> Iterator[Serve]:
    """Servers with limits of their own, ended with the test."""
    assert place.is_dir()
    with ExitStack() as ending:
        yield lambda **limits: ending.enter_context(running(segmenter, Limits(**limits)))


@contextmanager
def running(segmenter: Segmenter, limits: Limits) -> Iterator[SegmentServer]:
    with SegmentServer(segmenter, "tiny", limits=limits) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
