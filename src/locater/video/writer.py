"""Results on disk, one frame at a time: an overlay video, DAVIS masks, COCO run lengths, a contact sheet.

Writers write into a folder that exists; for whole-or-nothing files give them the folder of `files.atomic_entries`.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

import numpy as np
from PIL import Image

from locater.errors import LocaterError
from locater.io import rle
from locater.records import FrameResult, Mask, Pixels, VideoInfo
from locater.video.mp4 import Mp4File
from locater.video.overlay import DAVIS_PALETTE, ContactSheet, draw


class Writer(Protocol):
    """What every writer offers; leaving its `with` block finishes the file, unless an error is on its way."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def write(self, result: FrameResult) -> None:
        """Add the next frame."""
        ...


class OverlayWriter:
    """`overlay.mp4`: the video with its masks drawn on, at the source's own times."""

    def __init__(self, folder: Path, info: VideoInfo, expressions: Sequence[str]) -> None:
        self._file = Mp4File(folder / "overlay.mp4", info.frames_per_second)
        self._expressions = tuple(expressions)

    def __enter__(self) -> Self:
        return self

    def write(self, result: FrameResult) -> None:
        """Draw and encode the next frame."""
        self._file.write(draw(result.frame.pixels, result.masks, self._expressions), result.frame.timestamp)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.__exit__(kind, error, trace)


class PaletteWriter:
    """`masks/00000.png`, ...: DAVIS's indexed pictures; 0 is background, 1 the first expression."""

    def __init__(self, folder: Path, info: VideoInfo, expressions: Sequence[str]) -> None:  # noqa: ARG002
        if len(expressions) > 255:
            raise LocaterError("PNG masks number at most 255 expressions; give fewer, or ask for rle.")
        self._folder = folder / "masks"

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def write(self, result: FrameResult) -> None:
        """Write the next frame's picture, named by its index."""
        image = Image.fromarray(indexed(result))
        image.putpalette(DAVIS_PALETTE.tobytes())
        image.save(self._folder / f"{result.frame.index:05d}.png")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class CocoWriter:
    """`masks.json`: a COCO dataset that pycocotools opens; a category per expression, an image per frame.

    Annotations go to the file as they come, images to a nameless one that is appended at the end.
    """

    def __init__(self, folder: Path, info: VideoInfo, expressions: Sequence[str]) -> None:
        self._path = folder / "masks.json"
        self._info = info
        self._expressions = tuple(expressions)
        self._open_files = ExitStack()
        self._annotation_count = 0
        self._image_count = 0

    def __enter__(self) -> Self:
        self._file: IO[str] = self._open_files.enter_context(self._path.open("w", encoding="utf-8"))
        self._images: IO[str] = self._open_files.enter_context(
            tempfile.TemporaryFile("w+", encoding="utf-8", dir=self._path.parent)
        )
        about = {"description": "Masks by locater", "video": self._info.name}
        categories = [{"id": number, "name": name} for number, name in enumerate(self._expressions, start=1)]
        self._file.write(f'{{"info": {json.dumps(about)},\n"categories": {json.dumps(categories)},\n"annotations": [')
        return self

    def write(self, result: FrameResult) -> None:
        """Add the next frame's image, and an annotation for each mask that is not empty."""
        height, width = result.masks.shape[1:]
        image = {
            "id": result.frame.index,
            "file_name": f"{result.frame.index:05d}.jpg",  # as DAVIS and YouTube-VOS name a video's frames
            "width": width,
            "height": height,
            "timestamp": result.frame.timestamp,
        }
        self._images.write(_item(image, self._image_count))
        self._image_count += 1
        for number, (mask, score) in enumerate(zip(result.masks, result.confidence, strict=True), start=1):
            if mask.any():
                annotation = {
                    "id": self._annotation_count + 1,  # pycocotools' evaluation takes 0 for "no match"
                    "image_id": result.frame.index,
                    "category_id": number,
                    "segmentation": {"size": [height, width], "counts": rle.encode(mask).decode("ascii")},
                    "area": int(mask.sum()),
                    "bbox": bounding_box(mask),
                    "iscrowd": 0,
                    "score": score,
                }
                self._file.write(_item(annotation, self._annotation_count))
                self._annotation_count += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._open_files:
            if kind is None:
                self._file.write('\n],\n"images": [')
                self._images.seek(0)
                shutil.copyfileobj(self._images, self._file)
                self._file.write("\n]}\n")


class SheetWriter:
    """`contact_sheet.png`: the video at a glance, with its masks."""

    def __init__(self, folder: Path, info: VideoInfo, expressions: Sequence[str]) -> None:
        self._path = folder / "contact_sheet.png"
        self._sheet = ContactSheet(title=f"{info.name}: {' | '.join(expressions)}")

    def __enter__(self) -> Self:
        return self

    def write(self, result: FrameResult) -> None:
        """Keep the next frame when its turn has come."""
        if self._sheet.is_next_kept:
            self._sheet.add(draw(result.frame.pixels, result.masks), result.frame.timestamp)
        else:
            self._sheet.skip()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._sheet.image().save(self._path)


WRITERS: Mapping[str, Callable[[Path, VideoInfo, Sequence[str]], Writer]] = {
    "overlay": OverlayWriter,
    "png": PaletteWriter,
    "rle": CocoWriter,
    "sheet": SheetWriter,
}


class Writers:
    """Several writers fed as one."""

    def __init__(self, writers: Sequence[Writer]) -> None:
        self._writers = tuple(writers)
        self._open_writers = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for writer in self._writers:
                stack.enter_context(writer)
            self._open_writers = stack.pop_all()
        return self

    def write(self, result: FrameResult) -> None:
        """Give the next frame to each."""
        for writer in self._writers:
            writer.write(result)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_writers.__exit__(kind, error, trace)


def check_formats(formats: Sequence[str]) -> None:
    """Nothing, when every format is known; to be asked before the work starts."""
    for name in formats:
        if name not in WRITERS:
            raise LocaterError(f"There is no output format {name!r}; choose from {', '.join(WRITERS)}.")


def open_writers(formats: Sequence[str], folder: Path, info: VideoInfo, expressions: Sequence[str]) -> Writers:
    """One writer for all the named formats: overlay, png, rle, sheet."""
    check_formats(formats)
    return Writers([WRITERS[name](folder, info, expressions) for name in dict.fromkeys(formats)])


def indexed(result: FrameResult) -> Pixels:
    """The frame as expression numbers, (H, W) uint8; where masks overlap the surer wins, else the earlier."""
    masks = result.masks
    if len(masks) == 0:
        return np.zeros(masks.shape[1:], dtype=np.uint8)
    sureness = masks if result.soft_masks is None else np.where(masks, result.soft_masks, -1.0)
    winner = sureness.argmax(axis=0) + 1  # the first of equals
    return np.where(masks.any(axis=0), winner, 0).astype(np.uint8)


def bounding_box(mask: Mask) -> list[int]:
    """COCO's [left, top, width, height] around a mask that is not empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    return [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1]


def _item(value: object, place: int) -> str:
    return ("," if place else "") + "\n" + json.dumps(value)
