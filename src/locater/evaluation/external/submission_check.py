"""Everything that is wrong with a submission's zip, by name, before a server says only that it failed."""

import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from locater.datasets.reading.meta_expressions import DescribedVideo, read_meta_expressions
from locater.errors import LocaterError
from locater.evaluation.external.submission import Protocol
from locater.io.pictures import picture_file, stored_size
from locater.io.text_files import read_lines

_MOST_BYTES = 64 * 2**20  # of one picture: a mask of 8K compresses to far less
_JUNK = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"})
_ANNOTATIONS = tuple(f"anno_{number}" for number in range(4))
_MOST_OBJECTS = 20


@dataclass(frozen=True)
class Expected:
    """What a complete submission holds; without it only what is there is checked."""

    videos: Mapping[str, DescribedVideo] | None = None
    frame_folder: Path | None = None  # JPEGImages: the frames' own sizes


def read_expected(expressions: Path | None, videos: Path | None, frame_folder: Path | None) -> Expected:
    """From a meta_expressions.json, cut to the videos of a list where one is given, and the folder of frames."""
    if frame_folder is not None and not frame_folder.is_dir():
        raise LocaterError(f"There is no folder {frame_folder}; give the JPEGImages of the dataset.")
    if expressions is None:
        if videos is not None:
            raise LocaterError("--videos chooses among the videos of --expressions; give that too.")
        return Expected(None, frame_folder)
    described = read_meta_expressions(expressions)
    if videos is not None:
        listed = read_lines(videos)
        unknown = sorted(set(listed) - described.keys())
        if unknown:
            raise LocaterError(f"{videos} lists {unknown[0]}, which {expressions} does not have.")
        described = {name: described[name] for name in listed}
    return Expected(described, frame_folder)


def check_submission(path: Path, protocol: Protocol, expected: Expected) -> list[str]:
    """One line for each problem; none for a zip that can be handed in."""
    try:
        with zipfile.ZipFile(path) as archive:
            return list(_problems(archive, protocol, expected))
    except FileNotFoundError:
        raise LocaterError(f"There is no file {path}.") from None
    except zipfile.BadZipFile:
        return [f"{path.name} is no zip file."]
    except OSError as error:
        raise LocaterError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}.") from None


def _problems(archive: zipfile.ZipFile, protocol: Protocol, expected: Expected) -> Iterator[str]:
    names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    if not names:
        yield "The zip is empty."
    for name, times in Counter(names).items():
        if times > 1:
            yield f"{name}: is in the zip {times} times."
    bad = dict(_bad_names(names))
    yield from bad.values()
    inside = [name for name in dict.fromkeys(names) if name not in bad]
    strays = list(_stray_roots(inside, protocol))
    yield from strays
    placed = {name: parts for name in inside if (parts := _parts(name, protocol)) is not None}
    if not strays:
        for name in inside:
            if name not in placed:
                yield f"{name}: lies in the wrong place; expected is {_pattern(protocol)}."
    yield from _picture_problems(archive, placed, protocol, expected)
    if expected.videos is not None and not strays:
        yield from _missing_and_extra(set(placed.values()), protocol, expected.videos)


# ---- Names -----------------------------------------------------------------------------------------------------------


def _bad_names(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Entries that must not be there, whatever the layout, each with its problem."""
    for name in dict.fromkeys(names):
        path = PurePosixPath(name)
        if ".." in path.parts or path.is_absolute() or "\\" in name or (len(name) > 1 and name[1] == ":"):
            yield name, f"{name!r}: leads out of the folder it is unpacked in."
        elif _JUNK & set(path.parts) or path.name.startswith("._"):
            yield name, f"{name}: was added by the system that made the zip; leave it out."
        elif path.suffix.lower() in (".zip", ".tar", ".gz", ".7z", ".rar"):
            yield name, f"{name}: is an archive in the archive; zip the folders themselves."
        elif path.suffix != ".png":
            yield name, f"{name}: is no PNG."


def _stray_roots(names: Collection[str], protocol: Protocol) -> Iterator[str]:
    """A folder around everything, which servers do not look into, or `Annotations` where it is not wanted."""
    roots = {PurePosixPath(name).parts[0] for name in names}
    wanted = protocol.root.rstrip("/")
    if not names:
        return
    if wanted and wanted not in roots:
        yield f"{', '.join(sorted(roots)[:3])}: the zip's root must be the folder {wanted}."
    elif not wanted and len(roots) == 1 and not _fits_anywhere(names, protocol):
        yield f"{min(roots)}: is a folder around the others; the zip's root must hold {_pattern(protocol)}."


def _fits_anywhere(names: Collection[str], protocol: Protocol) -> bool:
    return any(_parts(name, protocol) is not None for name in names)


def _parts(name: str, protocol: Protocol) -> tuple[str, str, str] | None:
    """Video, expression (of Ref-DAVIS17: annotation, video) and frame; None where the name is no such path."""
    if not name.startswith(protocol.root):
        return None
    parts = PurePosixPath(name.removeprefix(protocol.root)).parts
    if len(parts) != 3 or (protocol.is_palette and parts[0] not in _ANNOTATIONS):
        return None
    if not protocol.root and parts[0] == "Annotations":
        return None
    return parts[0], parts[1], PurePosixPath(parts[2]).stem


def _pattern(protocol: Protocol) -> str:
    if protocol.is_palette:
        return "anno_<0 to 3>/<video>/<frame>.png"
    return f"{protocol.root}<video>/<expression id>/<frame>.png"


# ---- Pictures --------------------------------------------------------------------------------------------------------


def _picture_problems(
    archive: zipfile.ZipFile, placed: Mapping[str, tuple[str, str, str]], protocol: Protocol, expected: Expected
) -> Iterator[str]:
    sizes: dict[str, tuple[str, tuple[int, int]]] = {}  # by video: the frame's own, or that of its first picture
    for name, (first, second, frame) in placed.items():
        video = second if protocol.is_palette else first
        content = _content(archive, name)
        if isinstance(content, str):
            yield f"{name}: {content}"
            continue
        try:
            with picture_file(name, content) as image:
                image.load()
                size, mode = image.size, image.mode
                values = np.unique(np.asarray(image)) if mode in ("L", "P", "1") else None
        except LocaterError:
            yield f"{name}: is not a picture that can be read."
            continue
        yield from (f"{name}: {problem}" for problem in _pixel_problems(mode, values, protocol))
        if video not in sizes:
            own = _own_size(expected.frame_folder, video, frame)
            sizes[video] = ("the video's frames are", own) if own else (f"{name} is", size)
        if size != sizes[video][1]:
            whose, (width, height) = sizes[video]
            yield f"{name}: is {size[0]} x {size[1]}, {whose} {width} x {height}."


def _content(archive: zipfile.ZipFile, name: str) -> bytes | str:
    """The entry's bytes, or what is wrong with it."""
    entry = archive.getinfo(name)
    if entry.flag_bits & 0x1:
        return "is encrypted."
    if entry.file_size > _MOST_BYTES:
        return f"unpacks to {entry.file_size} bytes, too many for a mask."
    try:
        return archive.read(entry)
    except (zipfile.BadZipFile, OSError, NotImplementedError, EOFError, ValueError) as error:
        return f"cannot be unpacked ({error})."
    except Exception as error:  # zlib.error, lzma.LZMAError: each compression has its own
        return f"cannot be unpacked ({error})."


def _pixel_problems(
    mode: str, values: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | None, protocol: Protocol
) -> Iterator[str]:
    wanted = "P" if protocol.is_palette else "L"
    if mode != wanted:
        kind = "a palette picture (mode P)" if protocol.is_palette else "8-bit grey (mode L)"
        yield f"has mode {mode}, expected is {kind}."
    if values is None or mode == "1":
        return
    if protocol.is_palette:
        if values.max(initial=0) > _MOST_OBJECTS:
            yield f"holds the object number {values.max()}; DAVIS accepts {_MOST_OBJECTS} at most."
    elif not set(values.tolist()) <= {0, 255}:
        odd = sorted(set(values.tolist()) - {0, 255})
        yield f"holds the value{'s' if len(odd) > 1 else ''} {', '.join(map(str, odd[:5]))}; expected are 0 and 255."


def _own_size(folder: Path | None, video: str, frame: str) -> tuple[int, int] | None:
    if folder is None:
        return None
    for suffix in (".jpg", ".png"):
        path = folder / video / f"{frame}{suffix}"
        if path.is_file():
            return stored_size(path)
    return None


# ---- Completeness ----------------------------------------------------------------------------------------------------


def _missing_and_extra(
    found: Collection[tuple[str, str, str]], protocol: Protocol, videos: Mapping[str, DescribedVideo]
) -> Iterator[str]:
    """A folder that lacks wholly is one line, a frame that lacks in it is one line."""
    wanted: dict[tuple[str, str], tuple[str, ...]] = {}
    if protocol.is_palette:
        for annotation in _ANNOTATIONS:
            wanted |= {(annotation, name): video.frames for name, video in videos.items()}
    else:
        for name, video in videos.items():
            wanted |= {(name, number): video.frames for number in video.expressions}
    frames_in: dict[tuple[str, str], set[str]] = {}
    for first, second, frame in found:
        frames_in.setdefault((first, second), set()).add(frame)
    for folder, frames in wanted.items():
        place = f"{protocol.root}{folder[0]}/{folder[1]}"
        has = frames_in.get(folder)
        if has is None:
            yield f"{place}: is missing with its {len(frames)} frames."
            continue
        yield from (f"{place}/{frame}.png: is missing." for frame in frames if frame not in has)
        yield from (f"{place}/{frame}.png: is not asked for." for frame in sorted(has - set(frames)))
    for folder in sorted(frames_in.keys() - wanted.keys()):
        yield f"{protocol.root}{folder[0]}/{folder[1]}: is not asked for."
