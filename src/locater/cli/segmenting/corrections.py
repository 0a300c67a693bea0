"""Corrections as a person types them: `--click 12,200,140,-`, `--box 12,180,90,260,200`, `--mask 12,drawn.png`."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from locater.errors import LocaterError

if TYPE_CHECKING:
    from locater.cli.segmenting.videos import Asked
    from locater.records import Correction, Mask

CLICK = "FRAME,X,Y for what is meant, FRAME,X,Y,- for what is not"
BOX = "FRAME,LEFT,TOP,RIGHT,BOTTOM"
MASK = "FRAME,FILE"


def read_corrections(clicks: Sequence[str], boxes: Sequence[str], masks: Sequence[str]) -> "list[Correction]":
    """What was typed, in the order clicks, boxes, masks; `2:` in front means the second sentence."""
    return [
        *(_read(text, "--click", CLICK, _click) for text in clicks),
        *(_read(text, "--box", BOX, _box) for text in boxes),
        *(_read(text, "--mask", MASK, _mask) for text in masks),
    ]


def sentences_for(asked: "Asked", corrections: "Sequence[Correction]") -> tuple[str, ...]:
    """The sentences to segment by, one without words for each object that is only clicked; slips are told."""
    from locater.inference.correction.correction_checks import checked_corrections
    from locater.video.reader import open_source

    if not corrections:
        return asked.sentences
    if len(asked.videos) != 1:
        raise LocaterError(f"Corrections are of one video, and {len(asked.videos)} are named; give them one by one.")
    sentences = asked.sentences or ("",) * (1 + max(told.expression for told in corrections))
    checked_corrections(corrections, sentences, open_source(asked.videos[0]).info)
    return sentences


def _read(text: str, option: str, form: str, parse: "Callable[[int, int, list[str]], Correction]") -> "Correction":
    match = re.fullmatch(r"\s*(?:(\d{1,9})\s*:)?\s*(\d{1,9})\s*,(.+)", text, re.DOTALL)
    try:
        if match is None or match[1] == "0":
            raise ValueError
        sentence = int(match[1] or 1) - 1
        return parse(int(match[2]), sentence, match[3].split(","))
    except ValueError:
        raise LocaterError(
            f"{option} {text!r} cannot be read: it is {form}; a 2: before it means the second sentence."
        ) from None


def _click(frame: int, sentence: int, parts: list[str]) -> "Correction":
    from locater.records import Click, Correction

    *place, sign = parts if len(parts) == 3 else [*parts, "+"]
    x, y = (float(part) for part in place)
    if sign.strip() not in ("+", "-"):
        raise ValueError
    return Correction(frame, sentence, clicks=(Click(x, y, sign.strip() == "+"),))


def _box(frame: int, sentence: int, parts: list[str]) -> "Correction":
    from locater.records import Correction

    left, top, right, bottom = (float(part) for part in parts)
    return Correction(frame, sentence, box=(left, top, right, bottom))


def _mask(frame: int, sentence: int, parts: list[str]) -> "Correction":
    from locater.records import Correction

    return Correction(frame, sentence, mask=_drawn(Path(",".join(parts).strip())))


def _drawn(path: Path) -> "Mask":
    """A picture's mask: whatever is not black, or in a palette not its first colour."""
    import numpy as np

    from locater.io.pictures import opened

    picture = opened(path)
    if picture.mode not in ("1", "L", "P", "I", "I;16"):
        picture = picture.convert("RGB")
    pixels = np.atleast_3d(np.asarray(picture))
    return np.asarray((pixels > 0).any(-1), dtype=np.bool_)
