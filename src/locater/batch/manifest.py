"""The list of videos and their sentences: a CSV file, or JSON lines; a bad row is named by its line before any work."""

import csv
import io
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from locater.batch.addresses import local_path
from locater.errors import LocaterError
from locater.io.digests import text_digest
from locater.io.text_files import read_text

LARGEST_FILE = 256 << 20  # bytes
MOST_ROWS = 1_000_000
MOST_SENTENCES = 100
_LONGEST_NAME = 80  # letters of a folder's name
_REMEDY = "give a .csv or .jsonl file of videos and sentences (docs/batch.md)"


def _printable(text: str) -> str:
    """The text itself, unless it holds control characters, which would reach terminals and file names."""
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text):
        raise ValueError("it holds a control character")
    if not text.strip():
        raise ValueError("it is empty")
    return text.strip()


_Address = Annotated[str, StringConstraints(max_length=4096), AfterValidator(_printable)]
_Sentence = Annotated[str, StringConstraints(max_length=2000), AfterValidator(_printable)]
_Name = Annotated[str, StringConstraints(pattern=r"^\w[\w.-]*$", max_length=100), AfterValidator(_printable)]


class Row(BaseModel):
    """One line of a manifest."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    video: _Address  # a path, or an address that fsspec opens
    sentences: Annotated[tuple[_Sentence, ...], Field(min_length=1, max_length=MOST_SENTENCES)]
    name: _Name | None = None  # of the folder of its results


class Named(BaseModel):
    """A row with the folder that its results go to."""

    model_config = ConfigDict(frozen=True)

    name: str
    video: str
    sentences: tuple[str, ...]


def read_manifest(path: Path) -> list[Named]:
    """Every row, checked, with a name of its own; paths in it are taken from the manifest's own folder."""
    kinds = {".csv": _csv_rows, ".jsonl": _json_rows, ".ndjson": _json_rows}
    read = kinds.get(path.suffix.lower())
    if read is None:
        raise LocaterError(f"{path} is no manifest by its name; {_REMEDY}.")
    if path.exists() and not path.is_file():
        raise LocaterError(f"{path} is no plain file; {_REMEDY}.")
    if path.exists() and path.stat().st_size > LARGEST_FILE:
        raise LocaterError(f"{path} has more than {LARGEST_FILE >> 20} MB; divide it.")
    rows: list[tuple[int, Row]] = []
    for line, row in read(path, read_text(path, remedy=_REMEDY)):
        rows.append((line, row))
        if len(rows) > MOST_ROWS:
            raise LocaterError(f"{path} has more than {MOST_ROWS:,} rows; divide it.")
    if not rows:
        raise LocaterError(f"{path} names no video; {_REMEDY}.")
    return _named(path, rows)


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, _checked(path, number, line)


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Row]]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip().lower() for cell in next(lines, [])]
        odd = [cell for cell in header if cell not in ("video", "name", "sentence")]
        if odd or header.count("video") != 1 or "sentence" not in header or header.count("name") > 1:
            raise LocaterError(
                f"{path}, line 1: the columns must be video, sentence (as often as there may be sentences) and, where "
                "wanted, name."
            )
        for cells in lines:
            if any(cell.strip() for cell in cells):
                yield lines.line_num, _checked(path, lines.line_num, _cells(path, lines.line_num, header, cells))
    except csv.Error as error:
        raise LocaterError(f"{path}, line {lines.line_num}: {error}; write it as comma-separated values.") from None


def _cells(path: Path, line: int, header: list[str], cells: list[str]) -> dict[str, Any]:
    if len(cells) > len(header):
        raise LocaterError(f"{path}, line {line}: {len(cells)} cells under {len(header)} columns; quote commas.")
    pairs = [(column, cell) for column, cell in zip(header, cells, strict=False) if cell.strip()]
    row: dict[str, Any] = {column: cell for column, cell in pairs if column != "sentence"}
    return row | {"sentences": tuple(cell for column, cell in pairs if column == "sentence")}


def _checked(path: Path, line: int, content: str | dict[str, Any]) -> Row:
    try:
        return Row.model_validate_json(content) if isinstance(content, str) else Row.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:_LONGEST_NAME]
        told = f"{where}: {first['msg']}" if where else first["msg"]
        raise LocaterError(f"{path}, line {line}: {told}; correct it, or take the line out.") from None


def _named(path: Path, rows: Iterable[tuple[int, Row]]) -> list[Named]:
    """Rows under names that no two share, and that stay when lines are added at the end.

    Without a name of its own a row takes its file's; a later row with the same one gets a hash behind it.
    """
    given: dict[str, int] = {}  # names in small letters, because some file systems tell no others apart
    asked: dict[tuple[str, tuple[str, ...]], int] = {}
    found: list[Named] = []
    for line, row in rows:
        own = local_path(row.video)
        # Not resolved: a link may be replaced by another video, and is then another one under the same name.
        video = row.video if own is None else str(Path(os.path.abspath(path.parent / own.expanduser())))  # noqa: PTH100
        name = row.name or _name_of(video)
        if row.name is None and name.lower() in given:
            name = f"{name}-{text_digest(video, *row.sentences)[:8]}"
        earlier = given.get(name.lower()) if row.name else asked.get((video, row.sentences))
        if earlier is not None:
            same = "the same name" if row.name else "the same video and sentences"
            raise LocaterError(f"{path}, line {line}: {same} as line {earlier}; take one of them out.")
        given[name.lower()] = asked[video, row.sentences] = line
        found.append(Named(name=name, video=video, sentences=row.sentences))
    return found


def _name_of(video: str) -> str:
    path = PurePosixPath(urlsplit(video).path if "://" in video else video)
    name = path.name if Path(video).is_dir() else path.stem
    plain = re.sub(r"[^\w.-]+", "_", name)[:_LONGEST_NAME].lstrip(".-")
    return "video" if not plain or plain in ("summary.csv", "failed.csv") else plain
