"""The page's server without its page: masks, progress, files to take away, and everybody at once."""

import io
import json
import threading
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from locater.inference.segmenter import Segmenter
from locater.io import rle
from locater.video.writer import FORMATS
from locater.web.segment.server import SegmentServer
from tests.support.command_line.clips import DOG, OTHER, bad_video
from tests.support.making_videos import heard, write_video_with_sound
from tests.support.pages.page_client import PageClient

Serve = Callable[..., SegmentServer]
SENTENCES = [OTHER, DOG]


@pytest.fixture
def client(server: SegmentServer) -> PageClient:
    return PageClient(server.url)


def kept(place: Path) -> list[Path]:
    return [path for path in place.glob("locater-web-*/*") if path.name != "lock"]


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_ready(client: PageClient, path: str) -> bool:
    return client.ask(path)[0] == 200


def bits_of(content: bytes) -> Any:
    image = Image.open(io.BytesIO(content))
    assert image.mode == "L"
    return np.asarray(image)


def test_the_masks_on_the_page_are_the_segmenters(client: PageClient, clip: Path, segmenter: Segmenter) -> None:
    key = client.opened(clip.read_bytes())
    number = client.run(key, SENTENCES)
    run, frames = client.finished(key)
    track = segmenter.track(clip, SENTENCES)
    assert run["status"] == "done" and run["count"] == len(track) == len(frames) == 20
    assert any(track.areas(0)) and run["looked"] >= 11
    for index in (0, 7, 8, 19):
        status, content, kind = client.ask(f"/api/clips/{key}/masks/{number}/{index}")
        assert status == 200 and kind == "image/png"
        found = bits_of(content)
        for place in range(2):
            assert np.array_equal((found >> place) & 1 == 1, track.mask(index, place))
        scores, areas = frames[index]
        assert scores == [round(100 * score) for score in track.presence[index]]
        assert areas == [round(1e4 * track.areas(place)[index] / (96 * 64)) for place in range(2)]
    for place, sentence in enumerate(SENTENCES):
        assert [word for word, _ in run["words"][place]] == sentence.split()
        assert 95 <= sum(weight for _, weight in run["words"][place]) <= 105
    status, content, kind = client.ask(f"/api/clips/{key}/frames/19")
    assert status == 200 and kind == "image/jpeg" and Image.open(io.BytesIO(content)).size == (96, 64)


def test_every_format_can_be_taken_away(client: PageClient, clip: Path, segmenter: Segmenter) -> None:
    offered = [each["name"] for each in client.get("/api/page")["formats"]]
    assert offered == list(FORMATS)
    key = client.opened(clip.read_bytes())
    assert client.ask(f"/api/clips/{key}/exports", {"format": "rle"})[0] == 422  # nothing to take yet
    client.run(key, SENTENCES)
    client.finished(key)
    assert client.ask(f"/api/clips/{key}/exports", {"format": "../rle"})[0] == 422
    found = {}
    for name in offered:
        assert client.ask(f"/api/clips/{key}/exports", {"format": name})[0] == 202
        until(partial(is_ready, client, f"/api/clips/{key}/exports/{name}"))
        found[name] = client.ask(f"/api/clips/{key}/exports/{name}")
    assert found["overlay"][2] == "video/mp4" and found["png"][2] == "application/zip"
    track = segmenter.track(clip, SENTENCES)
    for each in json.loads(found["rle"][1])["annotations"]:
        mask = rle.decode(each["segmentation"]["counts"].encode(), 64, 96)
        assert np.array_equal(mask, track.mask(each["image_id"], each["category_id"] - 1))
    with zipfile.ZipFile(io.BytesIO(found["png"][1])) as archive:
        pictures = [name for name in archive.namelist() if name.endswith(".png")]
        assert len(pictures) == 20 and not any(name.startswith(("/", "..")) for name in archive.namelist())


@pytest.mark.parametrize(("name", "codec", "delay"), [("late.mkv", "aac", 0.5), ("recorder.mov", "pcm_s16le", 0.0)])
def test_overlays_sound_as_the_clip(client: PageClient, tmp_path: Path, name: str, codec: str, delay: float) -> None:
    clip = write_video_with_sound(tmp_path / name, codec, delay)
    key = client.opened(clip.read_bytes())
    client.run(key, [DOG])
    client.finished(key)
    assert client.ask(f"/api/clips/{key}/exports", {"format": "overlay"})[0] == 202
    until(partial(is_ready, client, f"/api/clips/{key}/exports/overlay"))
    (tmp_path / "overlay.mp4").write_bytes(client.ask(f"/api/clips/{key}/exports/overlay")[1])
    found, starts, length = heard(tmp_path / "overlay.mp4")
    assert found == "aac" and starts == pytest.approx(heard(clip)[1], abs=0.03)
    assert length == pytest.approx(heard(clip)[2], abs=0.07)


@pytest.mark.parametrize("name", ["text", "empty", "frameless", "sound", "cut_behind_index", "cut_before_index"])
def test_what_is_no_clip_is_told_and_nothing_of_it_stays(
    client: PageClient, place: Path, tmp_path: Path, name: str
) -> None:
    before = kept(place)
    status, answer = client.upload(bad_video(name, tmp_path).read_bytes(), "my%20film.mp4")
    assert status == 422 and answer["error"].startswith("my film.mp4 ") and answer["error"].endswith(".")
    assert str(place) not in answer["error"] and kept(place) == before
    assert client.get("/api/page")


def test_large_uploads_are_refused_before_they_come(serve: Serve, place: Path, short_clip: Path) -> None:
    before = kept(place)
    client = PageClient(serve(upload_bytes=2**20).url)
    status, content, _ = client.ask("/api/clips", b"", {"Content-Length": str(2**40)})
    assert status == 413 and b"up to 1 MB" in content
    status, content, _ = client.ask("/api/clips", b"x", {"Transfer-Encoding": "chunked"})
    assert status in (400, 411)
    assert kept(place) == before and client.opened(short_clip.read_bytes())


def test_a_cancelled_run_ends_and_the_next_begins(client: PageClient, clip: Path) -> None:
    key = client.opened(clip.read_bytes())
    for _ in range(3):
        client.run(key, SENTENCES)  # each gives up the one before
    number = client.run(key, SENTENCES)
    assert client.ask(f"/api/clips/{key}/cancel", {})[0] == 200
    run, _ = client.finished(key)
    assert run["number"] == number == 4 and run["status"] in ("cancelled", "done")
    client.run(key, [DOG])
    run, frames = client.finished(key)
    assert run["status"] == "done" and len(frames) == 20


def test_a_closed_tab_leaves_nothing(serve: Serve, place: Path, short_clip: Path) -> None:
    before = kept(place)
    client = PageClient(serve(leaving_seconds=0.4).url)
    key = client.opened(short_clip.read_bytes())
    client.run(key, SENTENCES)
    assert len(kept(place)) == len(before) + 1
    listening = client.news(key)
    next(listening)
    assert client.ask(f"/api/clips/{key}/leave", b"")[0] == 200  # a beacon
    time.sleep(1)
    assert len(kept(place)) > len(before)  # another tab looks at it
    listening.close()  # type: ignore[attr-defined]
    assert client.ask(f"/api/clips/{key}/leave", b"")[0] == 200
    until(lambda: kept(place) == before)
    status, content, _ = client.ask(f"/api/clips/{key}/frames/0")
    assert status == 404 and b"open it again" in content


def test_a_tab_that_is_just_gone_is_forgotten_after_a_while(serve: Serve, place: Path, short_clip: Path) -> None:
    before = kept(place)
    client = PageClient(serve(away_seconds=0.5, leaving_seconds=0.4).url)
    client.opened(short_clip.read_bytes())
    until(lambda: kept(place) == before)
    key = client.opened(short_clip.read_bytes())
    assert client.ask(f"/api/clips/{key}/close", {})[0] == 200 and kept(place) == before


def test_twenty_users_at_once(serve: Serve, short_clip: Path, segmenter: Segmenter) -> None:
    server = serve()
    ended: dict[int, tuple[Any, list[Any]]] = {}

    def use(number: int) -> None:
        client = PageClient(server.url, f"user-{number:017d}")
        key = client.opened(short_clip.read_bytes())
        client.run(key, [SENTENCES[number % 2]])
        ended[number] = client.finished(key)

    users = [threading.Thread(target=use, args=(number,)) for number in range(20)]
    for user in users:
        user.start()
    slowest = 0.0
    while any(user.is_alive() for user in users):
        began = time.monotonic()
        assert PageClient(server.url).get("/api/page")
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.1)
    assert slowest < 15  # on a loaded machine; mostly a few hundredths of a second
    assert len(ended) == 20 and all(run["status"] == "done" for run, _ in ended.values())
    for place, sentence in enumerate(SENTENCES):
        track = segmenter.track(short_clip, sentence)
        for number in range(place, 20, 2):
            assert [areas for _, areas in ended[number][1]] == [
                [round(1e4 * area / (96 * 64))] for area in track.areas(0)
            ]


def test_clips_are_counted(serve: Serve, short_clip: Path) -> None:
    server = serve(clips=3, clips_of_a_client=2)
    anna, bert = PageClient(server.url, "anna-" * 4 + "--"), PageClient(server.url, "bert-" * 4 + "--")
    keys = [anna.opened(short_clip.read_bytes()) for _ in range(2)]
    assert anna.upload(short_clip.read_bytes())[0] == 429
    bert.opened(short_clip.read_bytes())
    status, answer = bert.upload(short_clip.read_bytes())
    assert status == 503 and "Try again in a few minutes" in answer["error"]
    anna.ask(f"/api/clips/{keys[0]}/close", {})
    bert.opened(short_clip.read_bytes())


@pytest.mark.parametrize(
    "path",
    [
        "/api/clips/none",
        "/api/clips/none/events",
        "/api/clips/..%2f..",
        "/server.py",
        "/limits.py",
        "/..%2fserver%2fguard.py",
    ],
)
def test_what_is_not_there_is_not_found(client: PageClient, path: str) -> None:
    assert client.ask(path)[0] == 404


def test_odd_requests_are_refused(client: PageClient, clip: Path) -> None:
    key = client.opened(clip.read_bytes())
    for body in ({}, {"sentences": ["", ""]}, {"sentences": [DOG], "corrections": [{}]}, {"sentences": "x" * 900}):
        status, content, _ = client.ask(f"/api/clips/{key}/runs", body)
        assert status == 422 and json.loads(content)["error"].endswith(".")
    for place in ("frames/99", "frames/-1", "frames/x", "masks/1/0", "masks/x/0", "exports/rle"):
        assert client.ask(f"/api/clips/{key}/{place}")[0] == 404
    assert client.ask("/api/clips", b"x", {"Origin": "http://evil.example"})[0] == 403
    assert client.ask("/api/page", headers={"Authorization": ""})[0] == 403
