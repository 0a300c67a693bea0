"""What people ask for, read from JSON that may hold anything."""

import math
from collections.abc import Mapping
from typing import Any

from locater.errors import LocaterError
from locater.records import Click, Correction, VideoInfo
from locater.web.segment.limits import LONGEST_SENTENCE, MOST_CLICKS, MOST_SENTENCES


def read_sentences(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentences, with single spaces and nothing unprintable; one may be empty, for what is only pointed at."""
    given = body.get("sentences")
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise LocaterError("Sentences are a list of texts.")
    if not 1 <= len(given) <= MOST_SENTENCES:
        raise LocaterError(f"Give one to {MOST_SENTENCES} sentences.")
    for each in given:
        if len(each) > LONGEST_SENTENCE:
            raise LocaterError(f"A sentence has at most {LONGEST_SENTENCE} letters.")
    return tuple(_plain(each) for each in given)


def read_corrections(body: Mapping[str, Any], sentences: tuple[str, ...], info: VideoInfo) -> tuple[Correction, ...]:
    """The corrections, each within the clip and of one of the sentences; an empty sentence needs one."""
    given = body.get("corrections", [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise LocaterError("Corrections are a list of objects.")
    corrections = tuple(_correction(each, sentences, info) for each in given)
    if sum(len(each.clicks) for each in corrections) > MOST_CLICKS:
        raise LocaterError(f"A clip takes at most {MOST_CLICKS} clicks.")
    pointed_at = {each.expression for each in corrections}
    for place, text in enumerate(sentences):
        if not text and place not in pointed_at:
            raise LocaterError("Type a sentence, or click on the object that is meant.")
    return corrections


def plain_name(name: str) -> str:
    """A file's own name as its owner may be shown it: printable, short, without folders; never used as a path."""
    return _plain(name.replace("\\", "/").rpartition("/")[2])[:80] or "the clip"


def _correction(given: Mapping[str, Any], sentences: tuple[str, ...], info: VideoInfo) -> Correction:
    frame, place, clicks = given.get("frame"), given.get("expression"), given.get("clicks")
    if not isinstance(frame, int) or not 0 <= frame < (info.frame_count or 0):
        raise LocaterError("A correction names a frame of the clip.")
    if not isinstance(place, int) or not 0 <= place < len(sentences):
        raise LocaterError("A correction names one of the sentences.")
    if not isinstance(clicks, list) or not clicks:
        raise LocaterError("A correction has at least one click.")
    return Correction(frame, place, clicks=tuple(_click(each, info) for each in clicks))


def _click(given: object, info: VideoInfo) -> Click:
    if isinstance(given, dict) and isinstance(given.get("is_inside"), bool):
        x, y = given.get("x"), given.get("y")
        if isinstance(x, int | float) and isinstance(y, int | float) and math.isfinite(x) and math.isfinite(y):
            if not (0 <= x < (info.width or 0) and 0 <= y < (info.height or 0)):
                raise LocaterError("A click lies within the picture.")
            return Click(float(x), float(y), given["is_inside"])
    raise LocaterError("A click has x, y and is_inside.")


def _plain(text: str) -> str:
    whole = text.encode("utf-8", "replace").decode()
    return " ".join("".join(letter if letter.isprintable() else " " for letter in whole).split())
