"""Videos: overlays with the source's sound, mattes, and footage with an alpha channel."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import numpy as np
from PIL import Image

from locater.records import FrameMasks
from locater.video.mp4 import MATTE, PRORES_4444, Encoding, Mp4File
from locater.video.overlay import captioned, draw
from locater.video.writers.pictures import on_transparent
from locater.video.writers.writing import FrameNames, Output, Writer, sentence_folders, sentence_paths


class OverlayWriter(Writer):
    """`overlay.mp4`: the video with its masks drawn on and a legend below it, at its own times, with its sound."""

    def open(self, files: ExitStack) -> None:
        """Prepare the file."""
        info = self.output.info
        file = Mp4File(self.output.folder / "overlay.mp4", info.frames_per_second, sound_of=info.path)
        self._file = files.enter_context(file)

    def write(self, marked: FrameMasks) -> None:
        """Draw and encode the next frame."""
        self.prepared(marked)()

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Draw a frame; the call encodes it."""
        picture = captioned(draw(marked.frame.pixels, marked.masks), self.output.expressions)
        return partial(self._file.write_converted, self._file.converted(picture), marked.frame.timestamp)


class SentenceOverlaysWriter(Writer):
    """`overlays/1_the_dog.mp4`, ...: an overlay per sentence, each in the colour that it has in the common one."""

    def open(self, files: ExitStack) -> None:
        """Prepare a file per sentence."""
        info = self.output.info
        self._files = [
            files.enter_context(Mp4File(path, info.frames_per_second, sound_of=info.path))
            for path in sentence_paths(self.output, "overlays", ".mp4")
        ]

    def write(self, marked: FrameMasks) -> None:
        """Draw and encode the next frame for each sentence."""
        for number, (file, expression) in enumerate(zip(self._files, self.output.expressions, strict=True)):
            picture = draw(marked.frame.pixels, marked.masks[number : number + 1], first=number)
            file.write(captioned(picture, (expression,), first=number), marked.frame.timestamp)


class MatteWriter(Writer):
    """`matte/1_the_dog.mp4`, ...: a sentence's masks as a video, white on black."""

    def open(self, files: ExitStack) -> None:
        """Prepare a file per sentence."""
        self._files = _opened(self.output, "matte", ".mp4", MATTE, files)

    def write(self, marked: FrameMasks) -> None:
        """Encode the next frame's masks."""
        for file, mask in zip(self._files, marked.masks, strict=True):
            white = np.where(mask, 255, 0).astype(np.uint8)
            file.write(np.repeat(white[:, :, None], 3, axis=2), marked.frame.timestamp)


class AlphaWriter(Writer):
    """`alpha/1_the_dog.mov`, ...: the footage with a sentence's masks as its alpha channel; and as RGBA pictures.

    The video keeps the colours around the object under full transparency, so that an edge softened in the editor
    shows no dark fringe. The pictures, `alpha/1_the_dog/00000.png`, hold the object alone.
    """

    def open(self, files: ExitStack) -> None:
        """Prepare a file and a folder per sentence."""
        self._files = _opened(self.output, "alpha", ".mov", PRORES_4444, files)
        self._folders = sentence_folders(self.output, "alpha")
        self._names = FrameNames()

    def write(self, marked: FrameMasks) -> None:
        """Encode the next frame for each sentence."""
        pixels, name = marked.frame.pixels, self._names.of(marked.frame)
        for file, folder, mask in zip(self._files, self._folders, marked.masks, strict=True):
            file.write(np.dstack([pixels, np.where(mask, 255, 0).astype(np.uint8)]), marked.frame.timestamp)
            Image.fromarray(on_transparent(pixels, mask)).save(folder / f"{name}.png")


def _opened(output: Output, room: str, ending: str, encoding: Encoding, files: ExitStack) -> list[Mp4File]:
    rate = output.info.frames_per_second
    return [
        files.enter_context(Mp4File(path, rate, encoding=encoding)) for path in sentence_paths(output, room, ending)
    ]
