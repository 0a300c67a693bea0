"""A few frames of a video side by side, with a row of masks for each who marked them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from PIL import Image

from locater.records import FrameSource, Mask, Pixels
from locater.video.overlay import draw

COLUMNS = 6
DARK = (18, 20, 24)
_TILE_HEIGHT = 180
_GAP = 4

MaskOf = Callable[[int], Mask]


def some_of(indices: Sequence[int], count: int = COLUMNS) -> list[int]:
    """At most `count` of some frames, from the first to the last, evenly."""
    places = np.linspace(0, len(indices) - 1, min(count, len(indices))).round().astype(int)
    return [indices[place] for place in dict.fromkeys(places.tolist())]


def film_strip(frames: FrameSource | None, rows: Sequence[MaskOf], wanted: Sequence[int]) -> Image.Image:
    """The frames of these numbers, each with the first row's mask on top; without frames the masks alone."""
    columns = []
    for index, pixels in _pictures(frames, wanted):
        masks = [row(index) for row in rows]
        shown = np.full((*masks[0].shape, 3), 52, dtype=np.uint8) if pixels is None else pixels
        columns.append(Image.fromarray(np.concatenate([_tile(shown, mask) for mask in masks])))
    strip = Image.new("RGB", (sum(each.width + _GAP for each in columns) - _GAP, columns[0].height), DARK)
    left = 0
    for each in columns:
        strip.paste(each, (left, 0))
        left += each.width + _GAP
    return strip


def mask_of(masks: Mapping[int, Mask | None], size: tuple[int, int]) -> MaskOf:
    """A row of masks by frame; empty where there is nothing to see."""

    def read(index: int) -> Mask:
        mask = masks[index]
        return np.zeros(size, dtype=np.bool_) if mask is None else mask

    return read


def _pictures(frames: FrameSource | None, wanted: Sequence[int]) -> Iterator[tuple[int, Pixels | None]]:
    if frames is None:
        yield from ((index, None) for index in wanted)
        return
    for frame in frames.frames():
        if frame.index in wanted:
            yield frame.index, frame.pixels
        if frame.index >= wanted[-1]:
            return


def _tile(pixels: Pixels, mask: Mask) -> Pixels:
    """The frame with its mask, small; a truth of another size is fitted to the frame, for the eye alone."""
    height, width = pixels.shape[:2]
    if mask.shape != (height, width):
        mask = np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST))
    size = (max(1, round(width * _TILE_HEIGHT / height)), _TILE_HEIGHT)
    return np.asarray(Image.fromarray(draw(pixels, mask[None])).resize(size, Image.Resampling.BILINEAR))
