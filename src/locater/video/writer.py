"""Results on disk, one frame at a time: an overlay video, DAVIS masks, COCO run lengths, a contact sheet.

Writers write into a folder that exists; for whole-or-nothing files give them the folder of `files.atomic_entries`.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

import av
import av.error
import numpy as np
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from PIL import Image

from locater import rle
from locater.errors import LocaterError
from locater.records import FrameResult, Mask, Pixels, VideoInfo
from locater.video.overlay import DAVIS_PALETTE, ContactSheet, draw

_TICKS_PER_SECOND = 90_000  # MPEG's clock: fine enough to keep any camera's times
_BT709 = 1  # H.273's code for HD colours, in all three fields


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
    """`overlay.mp4`: H.264 that browsers play, at the source's own times."""

    def __init__(self, folder: Path, info: VideoInfo, expressions: Sequence[str]) -> None:
        self._path = folder / "overlay.mp4"
        self._usual_step = 1 / (info.frames_per_second or 24.0)
        self._expressions = tuple(expressions)
        self._container: OutputContainer | None = None
        self._stream: VideoStream | None = None
        self._last_tick = -1

    def __enter__(self) -> Self:
        return self

    def write(self, result: FrameResult) -> None:
        """Draw and encode the next frame."""
        picture = even_sized(draw(result.frame.pixels, result.masks, self._expressions))
        container, stream = self._opened(picture)
        frame = VideoFrame.from_ndarray(picture, format="rgb24").reformat(
            format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG"
        )
        # Two frames in one tick would stop the muxer, so the later one moves on by a hundred-thousandth of a second.
        self._last_tick = max(self._last_tick + 1, round(result.frame.timestamp * _TICKS_PER_SECOND))
        frame.pts = self._last_tick
        frame.time_base = Fraction(1, _TICKS_PER_SECOND)
        frame.duration = max(1, round(self._usual_step * _TICKS_PER_SECOND))  # the last frame's length rests on it
        with _encoding(self._path):
            container.mux(stream.encode(frame))

    def _opened(self, picture: Pixels) -> tuple[OutputContainer, VideoStream]:
        if self._container is None or self._stream is None:
            with _encoding(self._path):
                # faststart: the index goes first, so that a browser plays before the whole file is there
                self._container = av.open(str(self._path.absolute()), "w", options={"movflags": "+faststart"})
                self._stream = self._added_stream(self._container, picture.shape[1], picture.shape[0])
        return self._container, self._stream

    def _added_stream(self, container: OutputContainer, width: int, height: int) -> VideoStream:
        if "libx264" not in av.codecs_available:
            raise LocaterError("This PyAV cannot write H.264; install PyAV's own wheel, or ask for png or rle instead.")
        rate = Fraction(1 / self._usual_step).limit_denominator(1001)
        # veryfast: a few per cent larger than the default and several times faster beside a busy network
        stream = container.add_stream("libx264", rate=rate, options={"crf": "20", "preset": "veryfast"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        context = stream.codec_context
        context.time_base = Fraction(1, _TICKS_PER_SECOND)
        context.colorspace = context.color_primaries = context.color_trc = context.color_range = _BT709
        return stream

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._container is None or self._stream is None:
            return
        if kind is not None:
            with suppress(av.error.FFmpegError):  # the error on its way says more than this unfinished file's
                self._container.close()
            return
        with _encoding(self._path), self._container:
            self._container.mux(self._stream.encode(None))


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
    """`masks.json`: a COCO dataset that pycocotools opens; a category an expression, an image a frame.

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
        for number, (mask, presence) in enumerate(zip(result.masks, result.presence, strict=True), start=1):
            if mask.any():
                annotation = {
                    "id": self._annotation_count + 1,  # pycocotools' evaluation takes 0 for "no match"
                    "image_id": result.frame.index,
                    "category_id": number,
                    "segmentation": {"size": [height, width], "counts": rle.encode(mask).decode("ascii")},
                    "area": int(mask.sum()),
                    "bbox": bounding_box(mask),
                    "iscrowd": 0,
                    "score": presence,
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


def even_sized(picture: Pixels) -> Pixels:
    """The picture with its last row or column repeated where a side is odd: H.264's 4:2:0 needs even sides."""
    height, width = picture.shape[:2]
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _item(value: object, place: int) -> str:
    return ("," if place else "") + "\n" + json.dumps(value)


@contextmanager
def _encoding(path: Path) -> Iterator[None]:
    """Lets the system's errors (a full disk) pass, and turns the encoder's own into a sentence."""
    try:
        yield
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise LocaterError(f"Cannot encode {path.name}: {error.strerror}; ask for png or rle instead.") from error
