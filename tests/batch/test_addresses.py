"""Videos from addresses: files, a server on this machine, fsspec's memory."""

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from locater.batch import addresses
from locater.batch.addresses import check_protocols, local_path, local_video, version_of
from locater.errors import LocaterError
from locater.io.digests import digest_of


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a server of `tmp_path`."""
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None: ...


def test_a_file_on_a_server_is_copied_for_as_long_as_it_is_needed(served: str, tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"content" * 1000)
    with local_video(f"{served}/clip.mp4?token=1") as (path, content):
        assert path.name == "clip.mp4" and path.read_bytes() == b"content" * 1000
        assert content == digest_of(tmp_path / "clip.mp4")
    assert not path.parent.exists()


def test_the_version_of_a_file_on_a_server_changes_with_it(served: str, tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_bytes(b"old")
    first = version_of(f"{served}/clip.mp4")
    assert first is not None and first == version_of(f"{served}/clip.mp4")
    (tmp_path / "clip.mp4").write_bytes(b"newer")
    assert version_of(f"{served}/clip.mp4") != first


def test_what_a_server_does_not_have_is_one_sentence(served: str) -> None:
    told = r"Cannot fetch http://.*none\.mp4.*; check the address"
    with pytest.raises(LocaterError, match=told), local_video(f"{served}/none.mp4"):
        pass


def test_an_address_in_memory_has_no_version_and_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with fsspec.open("memory://videos/clip.mp4", "wb") as file:
        file.write(b"content")
    assert version_of("memory://videos/clip.mp4") is None
    with local_video("memory://videos/clip.mp4") as (path, _):
        assert (path.name, path.read_bytes()) == ("clip.mp4", b"content")
    monkeypatch.setattr(addresses, "LARGEST_DOWNLOAD", 3)
    with pytest.raises(LocaterError, match="more than 0 GB"), local_video("memory://videos/clip.mp4"):
        pass


def test_a_path_is_itself_and_a_folder_is_known_by_its_pictures(tmp_path: Path) -> None:
    assert local_path("file:///a/b.mp4") == Path("/a/b.mp4") and local_path("s3://a/b.mp4") is None
    (tmp_path / "frames").mkdir()
    contents = []
    for name in ("1.png", "2.png"):
        (tmp_path / "frames" / name).write_bytes(b"picture")
        with local_video(str(tmp_path / "frames")) as (path, content):
            assert path == tmp_path / "frames"
            contents.append(content)
    assert contents[0] != contents[1]
    assert version_of(str(tmp_path / "frames")) is None
    with pytest.raises(LocaterError, match="no such file"), local_video(str(tmp_path / "none.mp4")):
        pass


def test_a_protocol_that_nobody_knows_is_told_before_the_work() -> None:
    check_protocols(["a.mp4", "file:///a.mp4", "https://a/b.mp4", "memory://a"])
    with pytest.raises(LocaterError, match="gopher"):
        check_protocols(["a.mp4", "gopher://a/b.mp4"])
