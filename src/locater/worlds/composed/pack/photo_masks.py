"""Masks of photographs that have none: one line of a file for each picture, kept or not, and why not.

The file grows line by line and each is on disk before the next picture is looked at, so that a run that was stopped
goes on where it was. It holds no pixels and no folders: it is given with the folder of the photographs.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from PIL import Image

from locater.errors import LocaterError
from locater.io import rle
from locater.io.atomic import plain_os_errors
from locater.io.pictures import pictures_in, pixels_of
from locater.records import Mask
from locater.worlds.composed.pack.cutouts import Pixels
from locater.worlds.composed.pack.measures import MOST_SIDE, Measures, measure
from locater.worlds.composed.pack.nouns import broader_nouns, is_fit, noun_of_photograph, plain
from locater.worlds.composed.pack.saliency import Saliency

FORMAT = "locater photo masks 1"
# Chosen on 120 photographs with masks (40 each of pets, horses and people): 89 % are kept, with a mean IoU of .91.
LEAST_AREA, MOST_AREA = 0.02, 0.7
MOST_SIDES = 2
LEAST_PIECE = 0.85
LEAST_AGREEMENT = 0.8
MOST_EDGE = 3.5


class FindsSalient(Protocol):
    """What the masks are made with; `saliency.SaliencyModel` is one."""

    def saliency(self, picture: Pixels) -> Saliency:
        """How much each place of an (H, W, 3) picture stands out."""


@dataclass(frozen=True)
class PhotoMask:
    """A kept line of the file."""

    file: str  # under the folder of photographs
    noun: str
    broader: tuple[str, ...]
    mask: Mask  # (H, W), of the picture scaled to at most MOST_SIDE pixels


def why_not(measures: Measures) -> str:
    """Why a mask is not trusted; "" when it is."""
    if measures.area < LEAST_AREA:
        return "too small"
    if measures.area > MOST_AREA:
        return "too large"
    if measures.sides > MOST_SIDES:
        return "cut by the border"
    if measures.piece < LEAST_PIECE:
        return "several pieces"
    if measures.agreement < LEAST_AGREEMENT or measures.edge > MOST_EDGE:
        return "unsure"
    return ""


def mask_photographs(
    photos: Path,
    names: Path | None,
    model: FindsSalient,
    out: Path,
    listen: Callable[[int, int], None] = lambda _done, _total: None,
) -> Counter[str]:
    """Fill the file `out`; how often each reason was given, "" for those kept. `listen` hears done and total."""
    labels = None if names is None else _labels(names)
    todo = [path.relative_to(photos) for path in pictures_in(photos, deep=True)]
    if labels is not None:
        todo = [path for path in todo if path.as_posix() in labels or path.name in labels or path.stem in labels]
        if not todo:
            raise LocaterError(f"{names} names no picture of {photos}; its first column must be files' names.")
    with plain_os_errors(out):
        lines, end = _read(out) if out.exists() else ([], 0)
        reasons = Counter(str(line["why"]) for line in lines)
        done = {line["file"] for line in lines}
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("r+b" if out.exists() else "wb") as file:
            file.truncate(end)  # a line that was cut
            file.seek(end)
            if end == 0:
                _append(file, {"format": FORMAT})
            for number, path in enumerate(todo, start=1):
                if path.as_posix() not in done:
                    noun, broader = _named(path, labels)
                    line = _line(photos / path, noun, model)
                    _append(file, {"file": path.as_posix(), "noun": noun, "broader": list(broader), **line})
                    reasons[str(line["why"])] += 1
                listen(number, len(todo))
    return reasons


def kept_masks(file: Path) -> Iterator[PhotoMask]:
    """The masks of a file that are trusted."""
    if not file.is_file():
        raise LocaterError(f"There is no file {file}; make one with `locater data cutout`.")
    lines, _ = _read(file)
    try:
        for line in lines:
            if not line["why"]:
                mask = rle.decode(str(line["counts"]).encode("ascii"), *line["size"])
                yield PhotoMask(str(line["file"]), str(line["noun"]), tuple(line["broader"]), mask)
    except (KeyError, TypeError, ValueError):
        raise _broken(file) from None


def mask_size(height: int, width: int) -> tuple[int, int]:
    """The (height, width) of the mask of a picture."""
    scale = min(MOST_SIDE / max(height, width), 1.0)
    return max(round(height * scale), 1), max(round(width * scale), 1)


def _line(path: Path, noun: str, model: FindsSalient) -> dict[str, Any]:
    if not noun:
        return {"why": "no noun"}
    try:
        picture = pixels_of(path)
    except LocaterError:  # one broken file among thousands stops nobody
        return {"why": "cannot be read"}
    mask, measures = measure(model.saliency(picture))
    height, width = mask_size(*picture.shape[:2])
    scaled = Image.fromarray(mask.astype(np.uint8) * 255).resize((width, height), Image.Resampling.BILINEAR)
    counts = rle.encode(np.asarray(scaled) > 127).decode("ascii")
    return {"size": [height, width], "counts": counts, **measures.rounded(), "why": why_not(measures)}


def _named(path: Path, labels: Mapping[str, tuple[str, str]] | None) -> tuple[str, tuple[str, ...]]:
    """What a picture shows: by its label, else by its sub-folder, else by its own name."""
    if labels is None:
        return noun_of_photograph(path.parent.name or path.stem)
    found = next(labels[key] for key in (path.as_posix(), path.name, path.stem) if key in labels)
    noun, kind = plain(found[0]), plain(found[1])
    return (noun, broader_nouns(noun, kind)) if is_fit(noun) else ("", ())


def _labels(names: Path) -> dict[str, tuple[str, str]]:
    """A table's names by file: tab-separated file, noun and, where there is one, a broader noun."""
    try:
        rows = [line.split("\t") for line in names.read_text(encoding="utf-8").splitlines() if line.strip()]
    except FileNotFoundError:
        raise LocaterError(f"There is no file {names}; name the table of the pictures' names.") from None
    except (OSError, UnicodeDecodeError):
        raise LocaterError(f"{names} is no text; name a table of files and nouns, split by tabs.") from None
    if any(len(row) not in (2, 3) for row in rows):
        raise LocaterError(f"{names} has a line without a file and a noun; write: file, tab, noun.")
    return {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows}


def _read(file: Path) -> tuple[list[dict[str, Any]], int]:
    """The whole lines of a file, and where the last of them ends; a cut last line is not among them."""
    content = file.read_bytes()
    end = content.rfind(b"\n") + 1
    try:
        lines = [json.loads(line) for line in content[:end].splitlines()]
        if lines and lines[0]["format"] != FORMAT:
            raise _broken(file)
    except (KeyError, TypeError, ValueError):
        raise _broken(file) from None
    if not lines and content and not _encoded({"format": FORMAT}).startswith(content):
        raise _broken(file)  # someone's file, not a first line that was cut
    return lines[1:], end


def _append(file: BinaryIO, line: Mapping[str, Any]) -> None:
    file.write(_encoded(line))
    file.flush()
    os.fsync(file.fileno())


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"


def _broken(file: Path) -> LocaterError:
    return LocaterError(f"{file} is no file of photographs' masks; make one with `locater data cutout`.")
