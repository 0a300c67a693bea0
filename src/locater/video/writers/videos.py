"""Videos: overlays with the source's sound, mattes, and footage with an alpha channel."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from locater.records import FrameMasks, Pixels
from locater.video.guarded.sound_copy import SoundCopy
from locater.video.mp4 import MATTE, PRORES_4444, Encoding, Mp4File
from locater.video.overlay import captioned, draw
from locater.video.writers.pictures import on_transparent, png_of
from locater.video.writers.writing import FrameNames, Output, PreparingWriter, sentence_folders, sentence_paths


class OverlayWriter(PreparingWriter):
    """`overlay.mp4`: the video with its masks drawn on and a legend below it, at its own times, with its sound."""

    def open(self, files: ExitStack) -> None:
        """Prepare the file."""
        self._files = _opened_with_sound(self.output, [self.output.folder / "overlay.mp4"], files)

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Draw a frame; the call encodes it."""
        picture = captioned(draw(marked.frame.pixels, marked.masks), self.output.expressions)
        return _encoding(self._files, [picture], marked)


class SentenceOverlaysWriter(PreparingWriter):
    """`overlays/1_the_dog.mp4`, ...: an overlay per sentence, each in the colour that it has in the common one."""

    def open(self, files: ExitStack) -> None:
        """Prepare a file per sentence."""
        self._files = _opened_with_sound(self.output, sentence_paths(self.output, "overlays", ".mp4"), files)

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Draw a frame for each sentence; the call encodes them."""
        drawn = (
            captioned(draw(marked.frame.pixels, marked.masks[number : number + 1], first=number), (text,), first=number)
            for number, text in enumerate(self.output.expressions)
        )
        return _encoding(self._files, drawn, marked)


class MatteWriter(PreparingWriter):
    """`matte/1_the_dog.mp4`, ...: a sentence's masks as a video, white on black."""

    def open(self, files: ExitStack) -> None:
        """Prepare a file per sentence."""
        self._files = _opened(self.output, "matte", ".mp4", MATTE, files)

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Paint a frame's masks; the call encodes them."""
        white = (np.where(mask, 255, 0).astype(np.uint8) for mask in marked.masks)
        return _encoding(self._files, (np.repeat(each[:, :, None], 3, axis=2) for each in white), marked)


class AlphaWriter(PreparingWriter):
    """`alpha/1_the_dog.mov`, ...: the footage with a sentence's masks as its alpha channel; and as RGBA pictures.

    The video keeps the colours around the object under full transparency, so that an edge softened in the editor
    shows no dark fringe. The pictures, `alpha/1_the_dog/00000.png`, hold the object alone.
    """

    def open(self, files: ExitStack) -> None:
        """Prepare a file and a folder per sentence."""
        self._files = _opened(self.output, "alpha", ".mov", PRORES_4444, files)
        self._folders = sentence_folders(self.output, "alpha")
        self._names = FrameNames()

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Compress a frame's pictures; the call writes them, and encodes the frame, whose ten bits would take room."""
        pictures = [png_of(Image.fromarray(on_transparent(marked.frame.pixels, mask))) for mask in marked.masks]
        return partial(self._put, pictures, marked)

    def _put(self, pictures: Sequence[bytes], marked: FrameMasks) -> None:
        pixels, name = marked.frame.pixels, self._names.of(marked.frame)
        for file, folder, mask, picture in zip(self._files, self._folders, marked.masks, pictures, strict=True):
            file.write(np.dstack([pixels, np.where(mask, 255, 0).astype(np.uint8)]), marked.frame.timestamp)
            (folder / f"{name}.png").write_bytes(picture)


def _encoding(files: Sequence[Mp4File], pictures: Iterable[Pixels], marked: FrameMasks) -> Callable[[], None]:
    """A call that encodes a frame's pictures, one for each file, which are in the files' colours by then."""
    converted = [file.converted(picture) for file, picture in zip(files, pictures, strict=True)]

    def encode() -> None:
        for file, frame in zip(files, converted, strict=True):
            file.write_converted(frame, marked.frame.timestamp)

    return encode


def _opened_with_sound(output: Output, paths: Sequence[Path], files: ExitStack) -> list[Mp4File]:
    info = output.info
    sound = None if info.path is None else files.enter_context(SoundCopy(info.path))
    return [files.enter_context(Mp4File(path, info.frames_per_second, sound_of=sound)) for path in paths]


def _opened(output: Output, room: str, ending: str, encoding: Encoding, files: ExitStack) -> list[Mp4File]:
    rate = output.info.frames_per_second
    return [
        files.enter_context(Mp4File(path, rate, encoding=encoding)) for path in sentence_paths(output, room, ending)
    ]
