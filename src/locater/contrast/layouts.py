"""Where a built set's pictures, masks and tables lie: our folder format, or the authors' own.

A sequence's record is put in place last: a sequence is whole when its record is there.
"""

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from locater.errors import LocaterError
from locater.io.atomic import atomic_entries, atomic_folder, atomic_path
from locater.io.scratch import remove_abandoned
from locater.io.text_files import read_json
from locater.records import Frame, Mask
from locater.video.mp4 import Mp4File

FORMATS = ("folder", "authors")
VIDEOS = ("frames", "mp4")

_RECORDS = "sequences"
_JPEG_QUALITY = 95
_AUTHORS_NAMES = {"M": "MUL", "S": "SPAT", "T": "TEMP"}

Record = Mapping[str, Any]


@dataclass(frozen=True)
class SequenceFiles:
    """One sequence while it is written."""

    video: str  # where its frames lie in the subset's folder
    write_frame: Callable[[Frame], None]
    write_mask: Callable[[str, int, Mask], str]  # an object's name and frame; the file's place in the subset's folder
    record: Path


class Layout(ABC):
    """A way to lay out sequences."""

    frames_folder: str
    masks_folder: str
    pads_to_even = False  # whether pictures with an odd side get one more row or column

    def __init__(self, root: Path) -> None:
        self.root = root

    @abstractmethod
    def folder(self, subset: str) -> Path:
        """A subset's folder."""

    @abstractmethod
    def _table(self, subset: str) -> Path: ...

    @abstractmethod
    def _table_text(self, subset: str, records: Sequence[Record]) -> str: ...

    @abstractmethod
    def _open(self, files: ExitStack, subset: str, sequence: str, frames_per_second: float) -> SequenceFiles: ...

    @contextmanager
    def writing(self, subset: str, sequence: str, frames_per_second: float) -> Iterator[SequenceFiles]:
        """A sequence to fill; it is in place when all of it is written, and gone if something fails."""
        with ExitStack() as files:
            yield self._open(files, subset, sequence, frames_per_second)

    def write_table(self, subset: str, records: Sequence[Record]) -> None:
        """Name the sequences that are there, for whoever reads them; a subset without any has no table."""
        if not records:
            self._table(subset).unlink(missing_ok=True)
            return
        with atomic_path(self._table(subset)) as partial:
            partial.write_text(self._table_text(subset, records), "utf-8")

    def record_path(self, subset: str, sequence: str) -> Path:
        """Where a sequence's record lies."""
        return self.folder(subset) / _RECORDS / f"{sequence}.json"

    def record(self, subset: str, sequence: str) -> Record | None:
        """A sequence's record; None where the sequence is not there."""
        path = self.record_path(subset, sequence)
        if not path.exists():
            return None
        found: Record = read_json(path, "remove it and build again")
        return found

    def sequences(self, subset: str) -> list[str]:
        """The sequences that are there."""
        folder = self.folder(subset) / _RECORDS
        return sorted(path.stem for path in folder.glob("[!.]*.json")) if folder.is_dir() else []

    def remove(self, subset: str, sequence: str) -> None:
        """Take a sequence away, its record first."""
        record = self.record(subset, sequence)
        if record is None:
            return
        self.record_path(subset, sequence).unlink()
        places = [record["video"], *(place for query in record["queries"] for place in query["masks"].values())]
        for place in (self.folder(subset) / place for place in places):
            shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
        shutil.rmtree(self.folder(subset) / self.masks_folder / sequence, ignore_errors=True)

    def clear_leftovers(self, subset: str) -> None:
        """Remove what a kill left half-written."""
        folder = self.folder(subset)
        for inner in (folder, *(folder / name for name in (self.frames_folder, self.masks_folder, _RECORDS))):
            remove_abandoned(inner)

    def _open_record(self, files: ExitStack, subset: str, sequence: str) -> Path:
        return files.enter_context(atomic_path(self.record_path(subset, sequence)))


class FolderLayout(Layout):
    """What `datasets/folder.py` reads: JPEGs or an mp4 a sequence, PNG masks, `sentences.jsonl`."""

    frames_folder = "videos"
    masks_folder = "masks"

    def __init__(self, root: Path, video: str) -> None:
        super().__init__(root)
        self.pads_to_even = video == "mp4"  # H.264's 4:2:0 needs even sides

    def folder(self, subset: str) -> Path:
        """`M`, `S` or `T`."""
        return self.root / subset

    def _open(self, files: ExitStack, subset: str, sequence: str, frames_per_second: float) -> SequenceFiles:
        record = self._open_record(files, subset, sequence)
        masks = files.enter_context(atomic_folder(self.folder(subset) / self.masks_folder / sequence))

        def write_mask(name: str, index: int, mask: Mask) -> str:
            (masks / name).mkdir(exist_ok=True)
            Image.fromarray(mask.astype(np.uint8) * 255).save(masks / name / f"{index:05d}.png")
            return f"{self.masks_folder}/{sequence}/{name}/{index:05d}.png"

        target = self.folder(subset) / self.frames_folder / (f"{sequence}.mp4" if self.pads_to_even else sequence)
        write_frame: Callable[[Frame], None]
        if self.pads_to_even:
            path = files.enter_context(atomic_path(target))
            # One thread: how x264 divides the work depends on the machine's cores, and with it every byte.
            film = files.enter_context(Mp4File(path, frames_per_second, threads=1))
            write_frame = lambda frame: film.write(frame.pixels, frame.timestamp)  # noqa: E731
        else:
            folder = files.enter_context(atomic_folder(target))
            write_frame = lambda frame: Image.fromarray(frame.pixels).save(  # noqa: E731
                folder / f"{frame.index:05d}.jpg", quality=_JPEG_QUALITY
            )
        return SequenceFiles(f"{self.frames_folder}/{target.name}", write_frame, write_mask, record)

    def _table(self, subset: str) -> Path:
        return self.folder(subset) / "sentences.jsonl"

    def _table_text(self, subset: str, records: Sequence[Record]) -> str:
        rows = [
            {
                "video": record["sequence"],
                "expression": query["expression"],
                "object": query["object"],
                "kind": subset,
                "object_count": record["object_count"],
                "frames_per_second": record["frames_per_second"],
            }
            for record in records
            for query in record["queries"]
        ]
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class AuthorsLayout(Layout):
    """What `datasets/a2d_plus.py` reads beside: PNG frames, each mask a tensor that torch saved, one json."""

    frames_folder = "allPngs320H"
    masks_folder = "mask"

    def folder(self, subset: str) -> Path:
        """`A2D_SUBSET/A2D_SPAT` and the like."""
        return self.root / "A2D_SUBSET" / f"A2D_{_AUTHORS_NAMES[subset]}"

    def _open(self, files: ExitStack, subset: str, sequence: str, frames_per_second: float) -> SequenceFiles:  # noqa: ARG002
        record = self._open_record(files, subset, sequence)
        masks = files.enter_context(atomic_entries(self.folder(subset) / self.masks_folder))
        folder = files.enter_context(atomic_folder(self.folder(subset) / self.frames_folder / sequence))

        def write_mask(name: str, index: int, mask: Mask) -> str:
            place = f"{sequence}_{name}_{_number(index)}.pth"
            torch.save(torch.from_numpy(mask.astype(np.uint8)), masks / place)
            return f"{self.masks_folder}/{place}"

        def write_frame(frame: Frame) -> None:
            Image.fromarray(frame.pixels).save(folder / f"{_number(frame.index)}.png")

        return SequenceFiles(f"{self.frames_folder}/{sequence}", write_frame, write_mask, record)

    def _table(self, subset: str) -> Path:
        return self.folder(subset) / f"A2D_{_AUTHORS_NAMES[subset]}_test_expressions.json"

    def _table_text(self, subset: str, records: Sequence[Record]) -> str:  # noqa: ARG002
        content = {
            record["sequence"]: {
                "frames": [_number(index) for index in range(record["frame_count"])],
                "expressions": {
                    query["object"]: {
                        "exp": query["expression"],
                        "labels": [_number(int(index)) for index in query["masks"]],
                    }
                    for query in record["queries"]
                },
                "object_count": record["object_count"],  # ours: a joined video has more objects than sentences
            }
            for record in records
        }
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def open_layout(root: Path, form: str, video: str) -> Layout:
    """The layout of a name; `video` says how frames are kept."""
    for value, option, known in ((form, "--format", FORMATS), (video, "--video", VIDEOS)):
        if value not in known:
            raise LocaterError(f"{option} is '{value}'; choose {' or '.join(known)}.")
    if form == "authors" and video == "mp4":
        raise LocaterError("The authors' layout keeps frames as PNG; leave --video mp4 out, or choose --format folder.")
    return AuthorsLayout(root) if form == "authors" else FolderLayout(root, video)


def _number(index: int) -> str:
    return f"{index + 1:05d}"  # A2D counts frames from 1
