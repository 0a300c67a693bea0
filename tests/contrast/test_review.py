"""The review's server: every route, every refusal, and decisions that a kill cannot take away."""

import errno
import http.client
import io
import json
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from locater.cli import app as cli
from locater.contrast.decisions import rejected_sequences
from locater.contrast.review.outlines import outline_path
from locater.contrast.review.pairs import BuiltPairs
from locater.contrast.review.pictures import Pictures
from locater.errors import LocaterError
from locater.video.mp4 import Mp4File
from locater.web.review.server import ReviewServer
from tests.support.pages.reviewing import PAIR, decisions, make_set, reviewing
from tests.support.pages.serving import JSON, Client


class ReviewClient(Client):
    """Requests to the review."""

    def decide(self, decision: str, reason: str = "", sequence: str = PAIR) -> tuple[int, Any]:
        said = {"sequence": sequence, "decision": decision, "reason": reason}
        status, content, _ = self.ask("/api/decisions", said)
        return status, json.loads(content)

    def picture(self, index: int, sequence: str = PAIR) -> Any:
        status, content, kind = self.ask(f"/frames/{sequence}/{index}")
        assert status == 200 and kind in ("image/jpeg", "image/png"), content
        return np.asarray(Image.open(io.BytesIO(content)).convert("RGB")).astype(int)


@pytest.fixture
def client(folder: Path) -> Iterator[ReviewClient]:
    yield from serving(folder)


def serving(folder: Path) -> Iterator[ReviewClient]:
    with ReviewServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield ReviewClient(server.url)
        server.shutdown()
        thread.join()


def test_the_page_and_its_parts_are_served_and_name_nothing_elsewhere(client: ReviewClient) -> None:
    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        status, content, found = client.ask(path)
        assert status == 200 and found.startswith(kind) and content
    for path in ("/", "/page.css", "/page.js", "/player.js", "/sentence.js"):
        _, content, _ = client.ask(path)
        assert b"https:" not in content and b"//cdn" not in content
        assert content.replace(b"http://www.w3.org/2000/svg", b"").count(b"http:") == 0
    connection = http.client.HTTPConnection(client.host)
    connection.request("GET", "/", headers={"Authorization": f"Bearer {client.token}"})
    headers = connection.getresponse().headers
    connection.close()
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"


def test_the_overview_lists_the_pairs_in_the_datasets_order(client: ReviewClient, folder: Path) -> None:
    found = client.get("/api/review")
    lines = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    assert [pair["sequence"] for pair in found["pairs"]] == [line["sequence"] for line in lines if line["paired"]]
    assert {pair["decision"] for pair in found["pairs"]} == {"undecided"}
    assert found["counts"] == {"total": len(found["pairs"]), "decided": 0, "accepted": 0, "rejected": 0}
    assert found["dataset"] == "a2d-sentences-test" and len(found["reasons"]) == 5


def test_a_pair_has_both_sentences_their_roles_and_clips(client: ReviewClient) -> None:
    pair = client.get(f"/api/pairs/{PAIR}")
    assert pair["query"]["expression"] == "a brown dog is running on the grass"
    assert pair["contrast"]["expression"] == "a brown dog is walking on the grass"
    for half in ("query", "contrast"):
        shared = {role["role"]: role["is_shared"] for role in pair[half]["roles"]}
        assert shared == {"Arg0": True, "Verb": False, "ARGM-LOC": True}
    assert pair["subsets"] == ["S", "T"] and pair["rank"] == 1 and not pair["is_relaxed"] and not pair["is_doubtful"]
    assert pair["query"]["masked"] == [1, 11] and pair["contrast"]["masked"] == [1, 9]
    assert pair["contrast"]["box"]["padded_frames"] == 2 and pair["contrast"]["box"]["left"] == 64


def cropped(picture: Any, box: Any) -> Any:
    return picture[box["top"] :, box["left"] :][: box["height"], : box["width"]]


@pytest.mark.parametrize(
    "asked",
    [
        {"subsets": ("S",), "video": "mp4"},
        {"subsets": ("T",), "video": "mp4", "order": "query-last"},
        {"subsets": ("S", "T"), "format": "authors"},
        {"subsets": ("T",), "format": "authors", "order": "mixed"},
    ],
    ids=["S-mp4", "T-mp4-last", "authors", "T-authors-mixed"],
)
def test_every_layout_shows_the_same_clips_and_outlines(asked: dict[str, Any], built_set: Path, tmp_path: Path) -> None:
    reference = BuiltPairs(built_set)
    expected = reference.pair(PAIR)
    for client in serving(make_set(tmp_path / "other", **asked)):
        found = client.get(f"/api/pairs/{PAIR}")
        for half in ("query", "contrast"):
            for name in ("expression", "roles", "masked"):
                assert found[half][name] == expected[half][name]
            for place in expected[half]["masked"]:
                path = client.get(f"/outlines/{PAIR}/{half}/{place}")["path"]
                assert path == reference.outline(PAIR, half, place) and path.startswith("M")
            for place in (11, 0, 5):  # backwards too
                box, other = found[half]["box"], expected[half]["box"]
                picture = cropped(client.picture(box["first_frame"] + place), box)
                stored = reference.picture(PAIR, other["first_frame"] + place).content
                original = cropped(np.asarray(Image.open(io.BytesIO(stored)).convert("RGB")).astype(int), other)
                assert picture.shape == original.shape and np.abs(picture - original).mean() < 12


def test_a_decision_is_in_the_file_and_the_counts_follow(client: ReviewClient, folder: Path) -> None:
    status, saved = client.decide("accept")
    assert status == 200 and saved["counts"]["accepted"] == 1
    status, saved = client.decide("reject", "  the dog\nwalks too ")
    assert status == 200 and (saved["counts"]["accepted"], saved["counts"]["rejected"]) == (0, 1)
    line = {"sequence": PAIR, "decision": "reject", "reason": "the dog walks too"}
    assert decisions(folder) == [{**line, "decision": "accept", "reason": ""}, line]
    assert rejected_sequences(folder) == {PAIR}
    pair = next(pair for pair in client.get("/api/review")["pairs"] if pair["sequence"] == PAIR)
    assert (pair["decision"], pair["reason"]) == ("reject", "the dog walks too")


def test_undoing_brings_back_what_was_said_before(client: ReviewClient, folder: Path) -> None:
    client.decide("accept")
    client.decide("reject", "no")
    for expected in ("accept", "undecided"):
        status, content, _ = client.ask("/api/undo", {})
        assert status == 200 and json.loads(content)["decision"] == expected
    status, content, _ = client.ask("/api/undo", {})
    assert status == 404 and "nothing to undo" in json.loads(content)["error"]
    assert [each["decision"] for each in decisions(folder)] == ["accept", "reject", "accept", "undecided"]


@pytest.mark.parametrize(
    "body",
    [
        {"sequence": PAIR, "decision": "maybe", "reason": ""},
        {"sequence": PAIR, "decision": "reject", "reason": " \n"},
        {"sequence": PAIR, "decision": "reject", "reason": "x" * 501},
        {"sequence": PAIR, "decision": "reject", "reason": 3},
        {"sequence": None, "decision": "accept"},
        {"decision": ["accept"]},
    ],
)
def test_half_a_decision_is_refused(client: ReviewClient, folder: Path, body: Any) -> None:
    status, content, _ = client.ask("/api/decisions", body)
    assert status == 422 and json.loads(content)["error"].endswith(".") and not decisions(folder)


def test_a_decision_of_odd_characters_is_kept(client: ReviewClient, folder: Path) -> None:
    assert client.decide("reject", "Müll \ud800 \U0001f415")[0] == 200
    assert decisions(folder)[0]["reason"] == "Müll ? \U0001f415"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/server.py",
        "/build.json",
        "/frames/..%2f..%2fS/0",
        f"/frames/{PAIR}/-1",
        f"/frames/{PAIR}/1e3",
        f"/frames/{PAIR}/99999999999",
        f"/frames/{PAIR}/12",
        f"/frames/{PAIR}/0/1",
        f"/outlines/{PAIR}/query/0",
        f"/outlines/{PAIR}/nobody/1",
        "/outlines/none/query/1",
        "/api/pairs/..",
        "/api/pairs/%00",
        "/api/nothing",
    ],
)
def test_what_is_not_there_is_not_found(client: ReviewClient, path: str) -> None:
    status, content, kind = client.ask(path)
    assert status == 404 and kind == "application/json" and json.loads(content)["error"]


def test_a_record_that_points_elsewhere_shows_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    Image.new("RGB", (9, 9)).save(tmp_path / "private/00000.jpg")
    path = folder / "S/sequences" / f"{PAIR}.json"
    for video in ("../../private", str(tmp_path / "private")):
        path.write_text(json.dumps({**json.loads(path.read_text()), "video": video}))
        for client in serving(folder):
            assert client.ask(f"/frames/{PAIR}/0")[0] == 404


def test_a_broken_video_is_told_and_the_rest_goes_on(client: ReviewClient, folder: Path) -> None:
    shutil.rmtree(folder / f"S/videos/{PAIR}")
    status, content, _ = client.ask(f"/frames/{PAIR}/0")
    assert status == 422 and PAIR in json.loads(content)["error"]
    assert client.get(f"/api/pairs/{PAIR}") and client.decide("reject", "A video is broken")[0] == 200


def test_other_sites_get_nothing(client: ReviewClient, folder: Path) -> None:
    said = {"sequence": PAIR, "decision": "accept"}
    assert client.ask("/", headers={"Host": "evil.example"})[0] == 403
    assert client.ask("/api/decisions", said, {**JSON, "Host": "evil.example"})[0] == 403
    assert client.ask("/api/decisions", said, {**JSON, "Origin": "http://evil.example"})[0] == 403
    assert client.ask("/api/decisions", said, {**JSON, "Origin": "null"})[0] == 403
    assert client.ask("/api/undo", {}, {"Content-Type": "text/plain"})[0] == 415
    assert not decisions(folder)
    assert client.ask("/api/decisions", said, {**JSON, "Origin": f"http://{client.host}"})[0] == 200


def test_odd_requests_are_refused_and_the_server_goes_on(client: ReviewClient, folder: Path) -> None:
    assert client.ask("/api/decisions", b"{", JSON)[0] == 400
    assert client.ask("/api/decisions", [1], JSON)[0] == 400
    assert client.ask("/api/decisions", b"", {**JSON, "Content-Length": "many"})[0] == 400
    assert client.ask("/api/decisions", b"", {**JSON, "Content-Length": str(2**30)})[0] == 413
    assert client.ask("/api/nothing", {})[0] == 404
    assert client.ask("/", method="DELETE")[0] == 405
    host, _, port = client.host.partition(":")
    with socket.create_connection((host, int(port))) as rude:
        rude.sendall(b"GET /api/review HTTP/1.1\r\n")  # and away
    assert client.get("/api/review")["counts"]["decided"] == 0 and not decisions(folder)


def test_a_full_disk_is_told_and_leaves_no_half_line(
    client: ReviewClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.decide("accept")

    def fails(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fails)
        status, saved = client.decide("reject", "no")
    assert status == 422 and "no space left" in saved["error"] and len(decisions(folder)) == 1
    assert client.get("/api/review")["counts"]["accepted"] == 1


def test_a_line_that_a_kill_cut_short_does_not_spoil_the_next(folder: Path) -> None:
    whole_line = b'{"sequence": "a", "decision": "accept", "reason": ""}\n'
    (folder / "decisions.jsonl").write_bytes(whole_line + b'{"sequence": "two_0')
    for client in serving(folder):
        assert client.decide("accept")[0] == 200
    assert [each["sequence"] for each in decisions(folder)] == ["a", PAIR]


def test_a_killed_server_has_kept_what_it_said_it_saved(folder: Path) -> None:
    with reviewing(folder) as (process, url):
        first = ReviewClient(url).get("/api/review")["pairs"][0]["sequence"]
        assert ReviewClient(url).decide("reject", "The roles are wrong", first)[0] == 200
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert decisions(folder) == [{"sequence": first, "decision": "reject", "reason": "The roles are wrong"}]
    with reviewing(folder) as (process, url):
        assert ReviewClient(url).get("/api/review")["pairs"][0]["decision"] == "reject"
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
    assert process.returncode == 0 and not errors
    assert "1 of 5 pairs are decided: 0 accepted, 1 rejected." in output
    assert "`locater contrast build` command again" in output


def test_a_rebuilt_set_is_reviewed_anew(folder: Path) -> None:
    for client in serving(folder):
        client.decide("reject", "no")
    make_set(folder, subsets=("S", "T"))
    for client in serving(folder):
        found = client.get("/api/review")
        assert PAIR not in {pair["sequence"] for pair in found["pairs"]} and found["counts"]["decided"] == 0
        (new,) = (pair["sequence"] for pair in found["pairs"] if pair["sequence"].startswith("two_0__"))
        assert client.get(f"/api/pairs/{new}")["rank"] == 2


def fails_with(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    monkeypatch.setattr(sys, "argv", ["locater", "contrast", "review", "--no-browser", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    (line,) = capsys.readouterr().err.strip().split("\n")
    return line


def test_what_cannot_be_reviewed_is_told_in_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = fails_with(monkeypatch, capsys, str(tmp_path / "nowhere"))
    assert "is no folder that `locater contrast build` made" in said
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = fails_with(monkeypatch, capsys, str(folder), "--port", str(taken.getsockname()[1]))
        assert "is in use; choose another --port" in said
    (folder / "decisions.jsonl").unlink(missing_ok=True)
    (folder / "decisions.jsonl").mkdir()
    assert "Cannot write" in fails_with(monkeypatch, capsys, str(folder))
    (folder / "decisions.jsonl").rmdir()
    (folder / "decisions.jsonl").write_text('{"sequence": 1}\n')
    assert "line 1 is no decision" in fails_with(monkeypatch, capsys, str(folder))
    (folder / "decisions.jsonl").unlink()
    (folder / "pairs.jsonl").rename(folder / "kept")
    assert "is not finished" in fails_with(monkeypatch, capsys, str(folder))
    (folder / "pairs.jsonl").write_text("{")
    assert "cannot be read" in fails_with(monkeypatch, capsys, str(folder))
    (folder / "pairs.jsonl").write_text("")
    assert "holds no pair to check" in fails_with(monkeypatch, capsys, str(folder))


def test_the_outline_goes_around_the_mask() -> None:
    mask = np.zeros((5, 6), dtype=np.bool_)
    assert outline_path(mask) == ""
    mask[1:3, 2:5] = True
    corners = {tuple(map(float, point.split())) for point in outline_path(mask)[1:-1].split("L")}
    assert corners == {(2.5, 1), (4.5, 1), (5, 1.5), (5, 2.5), (4.5, 3), (2.5, 3), (2, 2.5), (2, 1.5)}
    mask[3, 5] = True  # touches at a corner: a line of its own
    assert outline_path(mask).count("M") == 2
    ring = np.ones((5, 5), dtype=np.bool_)
    ring[2, 2] = False
    assert outline_path(ring).count("M") == 2


def test_frames_of_a_film_are_kept_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    with Mp4File(path, 10.0) as film:
        for index in range(40):
            film.write(np.full((32, 48, 3), 6 * index, np.uint8), index / 10)
    pictures = Pictures(largest_cache=5000)
    for index in (3, 39, 0, 20, 20, 5):
        content = pictures.picture(path, index).content
        grey = np.asarray(Image.open(io.BytesIO(content)).convert("L"))
        assert abs(float(grey.mean()) - 6 * index) < 6
        assert pictures.cached_bytes <= 5000
    with pytest.raises(LocaterError, match="has no frame 40"):
        pictures.picture(path, 40)


def test_links_and_pipes_in_a_set_show_nothing(client: ReviewClient, folder: Path, tmp_path: Path) -> None:
    Image.new("RGB", (9, 9)).save(tmp_path / "private.jpg")
    picture = folder / f"S/videos/{PAIR}/00000.jpg"
    for kind in ("link", "pipe"):
        picture.unlink()
        if kind == "link":
            picture.symlink_to(tmp_path / "private.jpg")
        else:
            os.mkfifo(picture)
        status, content, _ = client.ask(f"/frames/{PAIR}/0")
        assert status == 422 and json.loads(content)["error"].endswith(".")
    assert client.picture(1).shape


def test_another_local_user_gets_nothing_and_deep_json_is_refused(client: ReviewClient, folder: Path) -> None:
    said = {"sequence": PAIR, "decision": "accept"}
    for path, body in (("/", None), ("/api/review", None), (f"/frames/{PAIR}/0", None), ("/api/decisions", said)):
        assert client.ask(path, body, {**JSON, "Authorization": ""})[0] == 403
    assert client.ask("/api/decisions", b'{"a":' * 10_000)[0] == 400
    assert not decisions(folder)
