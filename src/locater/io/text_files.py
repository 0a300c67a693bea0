"""Text files of annotations, whatever is wrong with them told in one sentence that names the file."""

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from locater.errors import LocaterError
from locater.io.plain_files import plain_file


def find(root: Path, places: Sequence[str]) -> Path | None:
    """The first of `places` under `root` that exists."""
    return next((root / place for place in places if (root / place).exists()), None)


def need(root: Path, places: Sequence[str]) -> Path:
    """The first of `places` under `root` that exists, or an error that names the official one."""
    found = find(root, places)
    if found is None:
        also = f" (nor {', '.join(places[1:])})" if len(places) > 1 else ""
        raise LocaterError(f"{root / places[0]} is missing{also}; check the folder you gave, or download it.")
    return found


def read_bytes(path: Path, remedy: str, most: int | None = None) -> bytes:
    """The file's content, of `most` bytes; `remedy` says what to do where there is none. Nobody waits for a pipe."""
    try:
        with plain_file(path) as file:
            content = file.read() if most is None else file.read(most + 1)
    except FileNotFoundError:
        raise LocaterError(f"{path} is missing; {remedy}.") from None
    except OSError as error:
        raise LocaterError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None
    if most is not None and len(content) > most:
        raise LocaterError(f"{path} has more than {most / 1e6:.0f} MB, which no such file has; {remedy}.")
    return content


def read_text(
    path: Path,
    encodings: Sequence[str] = ("utf-8-sig",),
    remedy: str = "download it again",
    most: int | None = None,
) -> str:
    """The file's text, in the first encoding that fits; `remedy` says what to do where there is none."""
    content = read_bytes(path, remedy, most)
    for encoding in encodings:
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise LocaterError(f"{path} is no text in {' or '.join(encodings)}; {remedy}.")


def read_lines(path: Path, encodings: Sequence[str] = ("utf-8-sig",)) -> list[str]:
    """The lines that hold something, stripped."""
    # Not splitlines: it also parts lines at characters such as U+0085, which latin-1 text may hold.
    return [line.strip() for line in read_text(path, encodings).split("\n") if line.strip()]


def read_rows(path: Path) -> list[list[str]]:
    """The rows of a comma-separated file that hold something."""
    try:
        return [row for row in csv.reader(read_text(path).splitlines()) if row]
    except csv.Error as error:
        raise LocaterError(f"{path} is no comma-separated file: {error}; download it again.") from None


def read_json(path: Path, remedy: str = "download it again", most: int | None = None) -> Any:
    """What a JSON file, of `most` bytes, holds; `remedy` says what to do where it holds none."""
    text = read_text(path, remedy=remedy, most=most)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise LocaterError(f"{path} is no JSON: {error.msg} in line {error.lineno}; {remedy}.") from None
    except RecursionError:
        raise LocaterError(f"{path} is no JSON that can be read: it is nested too deeply; {remedy}.") from None
    except ValueError:  # a number of thousands of digits
        raise LocaterError(f"{path} is no JSON that can be read: a number in it is too long; {remedy}.") from None


@contextmanager
def as_published(path: Path) -> Iterator[None]:
    """Turns whatever a file of another layout does to the reader into one sentence that names the file."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise LocaterError(f"{path} is not laid out as published: {what}; download it again.") from None


def one_line(sentence: str) -> str:
    """The sentence with single spaces; the official files hold doubled and trailing ones."""
    return " ".join(sentence.split())
