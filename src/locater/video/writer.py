"""Results on disk, one frame at a time, by the names of formats; the writers themselves are in `writers/`.

Writers write into a folder that exists; for whole-or-nothing files give them that of `io.results_folder`.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from locater.errors import LocaterError
from locater.records import FrameMasks, VideoInfo
from locater.video.writers.boxes import BoxesWriter
from locater.video.writers.coco import CocoVideoWriter, CocoWriter
from locater.video.writers.cvat import CvatWriter
from locater.video.writers.label_studio import LabelStudioWriter
from locater.video.writers.pictures import (
    CutoutWriter,
    ImagesWriter,
    PaletteWriter,
    SentencePicturesWriter,
    SheetWriter,
)
from locater.video.writers.videos import AlphaWriter, MatteWriter, OverlayWriter, SentenceOverlaysWriter
from locater.video.writers.writing import Output, Writer
from locater.video.writers.yolo import YoloWriter


@dataclass(frozen=True)
class Format:
    """An output format: who writes it, and what it needs."""

    writer: type[Writer]
    needs_pixels: bool = False  # the frames, and not their masks alone
    needs_images: bool = False  # the format `images` beside it, because its files name the pictures there


FORMATS: Mapping[str, Format] = {
    "overlay": Format(OverlayWriter, needs_pixels=True),
    "overlays": Format(SentenceOverlaysWriter, needs_pixels=True),
    "png": Format(PaletteWriter),
    "pngs": Format(SentencePicturesWriter),
    "rle": Format(CocoWriter),
    "sheet": Format(SheetWriter, needs_pixels=True),
    "matte": Format(MatteWriter),
    "alpha": Format(AlphaWriter, needs_pixels=True),
    "cutout": Format(CutoutWriter, needs_pixels=True),
    "boxes": Format(BoxesWriter),
    "images": Format(ImagesWriter, needs_pixels=True),
    "yolo": Format(YoloWriter, needs_images=True),
    "cvat": Format(CvatWriter),
    "labelstudio": Format(LabelStudioWriter, needs_images=True),
    "coco-video": Format(CocoVideoWriter, needs_images=True),
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

    def write(self, marked: FrameMasks) -> None:
        """Give the next frame to each."""
        for writer in self._writers:
            writer.write(marked)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open_writers.__exit__(kind, error, trace)


def check_formats(formats: Sequence[str]) -> None:
    """Nothing, when every format is known; to be asked before the work starts."""
    for name in formats:
        if name not in FORMATS:
            raise LocaterError(f"There is no output format {name!r}; choose from {', '.join(FORMATS)}.")


def with_images(formats: Sequence[str]) -> list[str]:
    """The formats, each once, and the pictures that some of them name."""
    check_formats(formats)
    extra = ["images"] if any(FORMATS[name].needs_images for name in formats) else []
    return list(dict.fromkeys([*formats, *extra]))


def open_writers(formats: Sequence[str], folder: Path, info: VideoInfo, expressions: Sequence[str]) -> Writers:
    """One writer for all the named formats (docs/outputs.md); overlays have the sound of the file at `info.path`."""
    wanted = with_images(formats)
    output = Output(folder, info, tuple(expressions), has_images="images" in wanted)
    return Writers([FORMATS[name].writer(output) for name in wanted])
