"""What people ask for may be anything; what is no request is told in a sentence."""

from typing import Any

import pytest

from locater.errors import LocaterError
from locater.records import Click, Correction, VideoInfo
from locater.web.segment.asked import plain_name, read_corrections, read_sentences

INFO = VideoInfo("a clip", width=96, height=64, frame_count=20)
CLICK = {"x": 5, "y": 6.5, "is_inside": False}
GOOD = {"frame": 19, "expression": 1, "clicks": [CLICK]}


def test_sentences_are_plain_text() -> None:
    assert read_sentences({"sentences": ["  the\x1b[31m dog\n on\x00 it ", ""]}) == ("the [31m dog on it", "")


@pytest.mark.parametrize("given", [None, "the dog", [], [1], ["a"] * 9, ["a" * 201], [["a"]], {"a": "b"}])
def test_other_sentences_are_refused(given: Any) -> None:
    with pytest.raises(LocaterError):
        read_sentences({"sentences": given})


def test_corrections_name_frames_sentences_and_places() -> None:
    found = read_corrections({"corrections": [GOOD]}, ("the dog", ""), INFO)
    assert found == (Correction(19, 1, clicks=(Click(5.0, 6.5, False),)),)


@pytest.mark.parametrize(
    "given",
    [
        "click",
        [1],
        [{**GOOD, "frame": 20}],
        [{**GOOD, "frame": -1}],
        [{**GOOD, "frame": 1.5}],
        [{**GOOD, "expression": 2}],
        [{**GOOD, "clicks": []}],
        [{**GOOD, "clicks": [{**CLICK, "x": 96}]}],
        [{**GOOD, "clicks": [{**CLICK, "y": float("nan")}]}],
        [{**GOOD, "clicks": [{**CLICK, "is_inside": 1}]}],
        [{**GOOD, "clicks": [None]}],
        [{**GOOD, "clicks": [CLICK] * 201}],
        [],
    ],
)
def test_other_corrections_are_refused(given: Any) -> None:
    with pytest.raises(LocaterError):
        read_corrections({"corrections": given}, ("the dog", ""), INFO)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\clips\\dog.mp4", "dog.mp4"),
        ("a\x1b]0;evil\x07\nb.mp4", "a ]0;evil b.mp4"),
        ("", "the clip"),
        ("x" * 500, "x" * 80),
    ],
)
def test_names_are_for_showing_only(given: str, shown: str) -> None:
    assert plain_name(given) == shown
