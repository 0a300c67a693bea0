"""People's own data: a folder of videos, a folder of masks, a table of sentences. docs/datasets.md has an example."""

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import LazyMasks, LazySource, MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.mask_pictures import binary_mask_file, palette_mask_file
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder, pictures_in
from locater.datasets.reading.problems import video_problems
from locater.errors import LocaterError
from locater.io.text_files import as_published, find, need, one_line, read_text
from locater.records import FrameSource, Mask, SampleInfo
from locater.video.reader import DEFAULT_FRAMES_PER_SECOND, open_video

PUBLISHED: Mapping[str, Figures] = {}  # any split that the table names

TABLES = ("sentences.csv", "sentences.jsonl")
_VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")
_COLUMNS = ("video", "expression", "object", "kind", "split", "object_count", "frames_per_second")


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    video: str
    expression: str
    object: str = ""  # its folder or palette number; several joined by +; empty: nothing in the video is meant
    kind: str = ""
    split: str = ""
    object_count: int | None = None
    frames_per_second: float | None = None  # of a folder of pictures


class FolderDataset(ListedDataset):
    """One question per line of the table; masks are read from whichever of the two layouts a video has."""

    def __init__(self, root: Path, split: str = "", kind: str = "") -> None:
        super().__init__(root, split)
        self.kind = kind

    @property
    def name(self) -> str:
        """A short name for reports."""
        return "-".join(part for part in (self.root.resolve().name, self.split, self.kind) if part)

    @cached_property
    def _table(self) -> tuple[Path, list[Row]]:
        table = need(self.root, TABLES)
        return table, read_table(table)

    def splits(self) -> frozenset[str]:
        """The splits that the table names."""
        _, rows = self._table
        return frozenset(row.split for row in rows if row.split)

    @cached_property
    def _rates(self) -> dict[str, float]:
        """Frames per second of the videos for which the table gives them."""
        _, rows = self._table
        return {row.video: row.frames_per_second for row in rows if row.frames_per_second is not None}

    def _listed(self) -> Iterable[SampleInfo]:
        """Every line of the split and kind, in the table's order; key `<video>/<object>`, numbered when it repeats."""
        table, rows = self._table
        chosen = [
            row for row in rows if (not self.split or row.split in ("", self.split)) and self.kind in ("", row.kind)
        ]
        if not chosen:
            known = sorted({row.split for row in rows if row.split}) or ["none"]
            what = " and ".join(f"'{each}'" for each in (self.split, self.kind) if each) or "sentences"
            raise LocaterError(f"{table} has no lines of {what}; its splits are: {', '.join(known)}.")
        objects: dict[str, set[str]] = {}
        for row in rows:
            objects.setdefault(row.video, set()).update(row.object.split("+") if row.object else ())
        seen: dict[str, int] = {}
        return tuple(_info(row, len(objects[row.video]), seen) for row in chosen)

    def problems(self, infos: Sequence[SampleInfo]) -> Iterator[str]:
        """One line for each missing or broken file behind one video's questions."""
        video = infos[0].video
        frames = LazySource(lambda: self._frames(video))
        objects = {info.object_id: info for info in infos}.values()
        for path in sorted(self._mask_folder(video).rglob("[!.]*.png")):
            try:
                self._index(path, frames)
            except LocaterError as error:
                yield str(error)
        masks = [LazyMasks(partial(self._masks_of, info, frames, skips_strays=True)) for info in objects]
        yield from video_problems(frames, masks)

    def _frames(self, video: str) -> FrameSource:
        folder = need_folder(self.root / "videos")
        if (folder / video).is_dir():
            rate = self._rates.get(video, DEFAULT_FRAMES_PER_SECOND)
            return PictureSequence(video, pictures_in(folder / video), rate)
        path = find(folder, (video, *(video + suffix for suffix in _VIDEO_SUFFIXES)))
        if path is None:
            raise LocaterError(f"{folder} has no video {video}: neither a folder of pictures nor a file {video}.mp4.")
        return open_video(path)

    def _mask_folder(self, video: str) -> Path:
        folder = self.root / "masks" / video
        return folder if folder.is_dir() else self.root / "masks" / Path(video).stem

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        return self._masks_of(info, LazySource(lambda: self._frames(info.video)), skips_strays=False)

    def _masks_of(self, info: SampleInfo, frames: LazySource, skips_strays: bool) -> dict[int, MaskFile]:
        if not (self.root / "masks").is_dir():  # sentences to try out, with nothing to compare
            return {}
        folder = self._mask_folder(info.video)
        if info.object_id is None:
            return self._empty_masks(folder, frames)
        need_folder(folder)
        if any(entry.is_dir() for entry in folder.iterdir()):
            return self._folder_masks(folder, info.object_id, frames, skips_strays)
        numbers = info.object_id.split("+")
        if not all(number.isdecimal() and 0 < int(number) < 256 for number in numbers):
            raise LocaterError(f"The object '{info.object_id}' is neither a folder in {folder} nor a palette number.")
        paths = self._by_index(_masks_in(folder), frames, skips_strays)
        wanted = frozenset(int(number) for number in numbers)
        return {index: palette_mask_file(path, wanted) for index, path in paths.items()}

    def _folder_masks(
        self, folder: Path, object_id: str, frames: LazySource, skips_strays: bool
    ) -> dict[int, MaskFile]:
        """Masks from one folder per object, or the union of several."""
        names = [object_id] if (folder / object_id).is_dir() else object_id.split("+")
        parts = [self._by_index(_masks_in(folder / name), frames, skips_strays) for name in names]
        files: dict[int, MaskFile] = {}
        for index in sorted(set().union(*parts)):
            found = [binary_mask_file(part[index]) for part in parts if index in part]
            files[index] = found[0] if len(found) == 1 else MaskFile(found[0].name, partial(_union, found))
        return files

    def _empty_masks(self, folder: Path, frames: LazySource) -> dict[int, MaskFile]:
        """Empty masks on the video's annotated frames, or on all frames when nothing in it is annotated."""
        paths = _masks_in(folder) + [path for inner in _folders_in(folder) for path in _masks_in(inner)]
        indices = sorted(self._by_index(paths, frames, True)) or range(frames.info.frame_count or 0)
        name = f"{folder} (nothing is meant)"
        return {index: MaskFile(name, lambda: np.zeros(frames.size(), dtype=np.bool_)) for index in indices}

    def _by_index(self, paths: Sequence[Path], frames: LazySource, skips_strays: bool) -> dict[int, Path]:
        found: dict[int, Path] = {}
        for path in paths:
            try:
                found[self._index(path, frames)] = path
            except LocaterError:
                if not skips_strays:
                    raise
        return dict(sorted(found.items()))

    def _index(self, path: Path, frames: LazySource) -> int:
        """The frame a mask belongs to: the picture of the same name, or its number from 0 in a video file."""
        names = self._names_of(frames)
        if names is None and path.stem.isdecimal():
            return int(path.stem)
        if names is None or path.stem not in names:
            raise LocaterError(f"{path} is named like no frame of its video; name masks as the frames are named.")
        return names[path.stem]

    def _names_of(self, frames: LazySource) -> Mapping[str, int] | None:
        names = frames.frame_names
        return None if names is None else {name: index for index, name in enumerate(names)}


def read_table(path: Path) -> list[Row]:
    """Every line of a `sentences.csv` or `sentences.jsonl`."""
    text = read_text(path)
    lines = _jsonl_lines(path, text) if path.suffix == ".jsonl" else _csv_lines(path, text)
    return [_row(path, number, line) for number, line in lines]


def _csv_lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        reader = csv.DictReader(text.splitlines())
        for line in reader:
            yield reader.line_num, line
    except csv.Error as error:
        raise LocaterError(f"{path} is no comma-separated file: {error}.") from None


def _jsonl_lines(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise LocaterError(f"{path}, line {number} is no JSON; write one object per line.") from None
        if not isinstance(entry, dict):
            raise LocaterError(f"{path}, line {number} is no JSON object; write one object per line.")
        yield number, entry


def _row(path: Path, number: int, line: Mapping[str, Any]) -> Row:
    unknown = [str(column) for column in line if column not in _COLUMNS]
    if unknown:  # a misspelt column would be dropped in silence; a comma in a sentence without quotes looks the same
        raise LocaterError(
            f"{path}, line {number} has more than the columns {', '.join(_COLUMNS)}: {', '.join(unknown)}; "
            "sentences with a comma need quotes."
        )
    texts = {column: one_line(str(line[column])) for column in _COLUMNS if line.get(column) is not None}
    if not texts.get("video") or not texts.get("expression"):
        raise LocaterError(f"{path}, line {number} needs a video and an expression.")
    if Path(texts["video"]).is_absolute() or ".." in Path(texts["video"]).parts:
        raise LocaterError(f"{path}, line {number}: the video '{texts['video']}' must lie inside the folder.")
    with as_published(path):
        count = int(texts["object_count"]) if texts.get("object_count") else None
        rate = float(texts["frames_per_second"]) if texts.get("frames_per_second") else None
        if rate is not None and not 0 < rate < math.inf:
            raise ValueError(f"line {number} has {rate} frames per second")
    return Row(
        video=texts["video"],
        expression=texts["expression"],
        object=texts.get("object", ""),
        kind=texts.get("kind", ""),
        split=texts.get("split", ""),
        object_count=count,
        frames_per_second=rate,
    )


def _info(row: Row, objects_named: int, seen: dict[str, int]) -> SampleInfo:
    key = f"{row.video}/{row.object or 'absent'}"
    seen[key] = seen.get(key, 0) + 1
    return SampleInfo(
        key=key if seen[key] == 1 else f"{key}#{seen[key]}",
        video=row.video,
        expression=row.expression,
        kind=row.kind or ("" if row.object else "absent"),
        object_count=objects_named if row.object_count is None else row.object_count,
        object_id=row.object or None,
    )


def _masks_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return [] if folder.parent.name == "masks" else _no_object(folder)
    return sorted(folder.glob("[!.]*.png"))


def _no_object(folder: Path) -> list[Path]:
    raise LocaterError(f"{folder.parent} has no folder '{folder.name}' of masks, which the table names.")


def _folders_in(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []


def _union(files: Sequence[MaskFile]) -> Mask:
    masks = [file.read() for file in files]
    if len({mask.shape for mask in masks}) > 1:
        raise LocaterError(f"{files[0].name} and {files[1].name} differ in size; they show the same frame.")
    union: Mask = np.any(np.stack(masks), axis=0)
    return union
