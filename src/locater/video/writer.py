"""Results on disk, one frame at a time, by the names of formats; the writers themselves are in `writers/`.

Writers write into a folder that exists; for whole-or-nothing files give them that of `io.results_folder`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.errors import LocaterError
from locater.records import VideoInfo
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
from locater.video.writers.writing import Output, Writer, Writers
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
