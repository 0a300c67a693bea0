"""Pictures: indexed masks, a mask per sentence, cut-outs, the frames themselves, and a contact sheet."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from io import BytesIO
from itertools import combinations

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from locater.errors import LocaterError
from locater.records import Frame, FrameMasks, Mask, Pixels
from locater.video.overlay import DAVIS_PALETTE, ContactSheet, draw
from locater.video.writers.writing import FrameNames, Output, PreparingWriter, Writer, bounding_box, sentence_folders

IMAGES = "images"  # YOLO's programs look for labels where this part of a picture's path reads "labels"


class OverlapWarning(UserWarning):
    """Sentences mark the same pixels where a file has room for one of them."""


class PaletteWriter(PreparingWriter):
    """`masks/00000.png`, ...: DAVIS's indexed pictures; 0 is background, 1 the first expression."""

    def __init__(self, output: Output) -> None:
        if len(output.expressions) > 255:
            raise LocaterError("PNG masks number at most 255 expressions; give fewer, or ask for rle.")
        super().__init__(output)
        self._folder = output.folder / "masks"
        self._names = FrameNames()
        self._has_warned = False

    def open(self, files: ExitStack) -> None:  # noqa: ARG002
        """Make the folder."""
        self._folder.mkdir()

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Compress a frame's picture; the call writes it, and says once that sentences overlap."""
        image = Image.fromarray(indexed(marked))
        image.putpalette(DAVIS_PALETTE.tobytes())
        return partial(self._put, png_of(image), marked)

    def _put(self, picture: bytes, marked: FrameMasks) -> None:
        (self._folder / f"{self._names.of(marked.frame)}.png").write_bytes(picture)
        if not self._has_warned and (pair := overlapping(marked)):
            self._has_warned = True
            first, second = (self.output.expressions[number] for number in pair)
            winner = "the earlier" if marked.soft_masks is None else "the surer"
            warnings.warn(
                f"{first!r} and {second!r} overlap in frame {marked.frame.index}, and an indexed PNG gives a pixel to "
                f"{winner} of them alone; ask for pngs or rle, which keep every mask whole.",
                OverlapWarning,
                stacklevel=2,
            )


class SentencePicturesWriter(Writer):
    """`pngs/1_the_dog/00000.png`, ...: every sentence's own black-and-white pictures, which lose nothing."""

    def open(self, files: ExitStack) -> None:  # noqa: ARG002
        """Make a folder per sentence."""
        self._folders = sentence_folders(self.output, "pngs")
        self._names = FrameNames()

    def write(self, marked: FrameMasks) -> None:
        """Write the next frame's masks, white on black."""
        name = self._names.of(marked.frame)
        for folder, mask in zip(self._folders, marked.masks, strict=True):
            Image.fromarray(mask).save(folder / f"{name}.png")


class CutoutWriter(PreparingWriter):
    """`cutout/1_the_dog/00000.png`, ...: the object alone on transparent ground, cropped to its bounding box.

    Where nothing is marked there is no picture. Each says in its text fields `left` and `top` where it was.
    """

    def open(self, files: ExitStack) -> None:  # noqa: ARG002
        """Make a folder per sentence."""
        self._folders = sentence_folders(self.output, "cutout")
        self._names = FrameNames()

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        """Cut out and compress what a frame's masks mark; the call writes it."""
        pictures = [_cut_out(marked.frame.pixels, mask) if mask.any() else None for mask in marked.masks]
        return partial(self._put, pictures, marked.frame)

    def _put(self, pictures: Sequence[bytes | None], frame: Frame) -> None:
        name = self._names.of(frame)
        for folder, picture in zip(self._folders, pictures, strict=True):
            if picture is not None:
                (folder / f"{name}.png").write_bytes(picture)


class ImagesWriter(Writer):
    """`images/00000.jpg`, ...: the frames themselves, upright, for programs that open pictures and no video."""

    def open(self, files: ExitStack) -> None:  # noqa: ARG002
        """Make the folder."""
        self._folder = self.output.folder / IMAGES
        self._folder.mkdir()
        self._names = FrameNames()

    def write(self, marked: FrameMasks) -> None:
        """Write the next frame."""
        path = self._folder / f"{self._names.of(marked.frame)}.jpg"
        Image.fromarray(marked.frame.pixels).save(path, quality=95, subsampling=0)


class SheetWriter(Writer):
    """`contact_sheet.png`: the video at a glance, with its masks."""

    def __init__(self, output: Output) -> None:
        super().__init__(output)
        self._sheet = ContactSheet(title=f"{output.info.name}: {' | '.join(output.expressions)}")

    def write(self, marked: FrameMasks) -> None:
        """Keep the next frame when its turn has come."""
        if self._sheet.is_next_kept:
            self._sheet.add(draw(marked.frame.pixels, marked.masks), marked.frame.timestamp)
        else:
            self._sheet.skip()

    def finish(self) -> None:
        """Write the sheet."""
        self._sheet.image().save(self.output.folder / "contact_sheet.png")


def indexed(marked: FrameMasks) -> Pixels:
    """The frame as expression numbers, (H, W) uint8; where masks overlap the surer wins, else the earlier."""
    masks = marked.masks
    if len(masks) == 0:
        return np.zeros(masks.shape[1:], dtype=np.uint8)
    sureness = masks if marked.soft_masks is None else np.where(masks, marked.soft_masks, -1.0)
    winner = sureness.argmax(axis=0) + 1  # the first of equals
    return np.where(masks.any(axis=0), winner, 0).astype(np.uint8)


def overlapping(marked: FrameMasks) -> tuple[int, int] | None:
    """The first two expressions that share a pixel, if any do."""
    if len(marked.masks) < 2 or marked.masks.sum(axis=0, dtype=np.uint8).max(initial=0) < 2:
        return None
    pairs = combinations(range(len(marked.masks)), 2)
    return next((a, b) for a, b in pairs if (marked.masks[a] & marked.masks[b]).any())


def _cut_out(pixels: Pixels, mask: Mask) -> bytes:
    left, top, width, height = bounding_box(mask)
    window = (slice(top, top + height), slice(left, left + width))
    place = PngInfo()
    place.add_text("left", str(left))
    place.add_text("top", str(top))
    return png_of(Image.fromarray(on_transparent(pixels[window], mask[window])), place)


def png_of(image: Image.Image, text: PngInfo | None = None) -> bytes:
    """A PNG file's content."""
    content = BytesIO()
    image.save(content, "PNG", pnginfo=text)
    return content.getvalue()


def on_transparent(pixels: Pixels, mask: Mask) -> Pixels:
    """(H, W, 4): what is marked; the rest is transparent, and nothing of it is left in the file."""
    cut = np.zeros((*mask.shape, 4), dtype=np.uint8)
    cut[mask, :3] = pixels[mask]
    cut[mask, 3] = 255
    return cut
