"""Frames from memory: arrays, tensors and Pillow images that a caller holds or hands over, and frames once decoded."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from locater.errors import LocaterError
from locater.frames import check_stride
from locater.io.pictures import upright
from locater.records import Frame, FrameSource, Pixels, VideoInfo


class ArraySequence:
    """A sequence of pictures in memory, which can be read again and again."""

    is_repeatable = True

    def __init__(self, pictures: Sequence[Any] | npt.NDArray[Any] | Tensor, frames_per_second: float) -> None:
        if _is_one_picture(pictures):
            raise LocaterError("One picture was given where a video is expected; put it in a list: [picture].")
        if len(pictures) == 0:
            raise LocaterError("The sequence of frames is empty; give at least one picture.")
        self._pictures = pictures
        self._frames_per_second = frames_per_second
        height, width = as_pixels(pictures[0], 0).shape[:2]
        self._size = (width, height)
        self.info = VideoInfo(
            name="frames",
            width=width,
            height=height,
            frame_count=len(pictures),
            frames_per_second=frames_per_second,
            duration=len(pictures) / frames_per_second,
        )

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..."""
        check_stride(start, every)
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        for index in range(start, len(self._pictures), every):
            pixels = as_pixels(self._pictures[index], index)
            check_size(pixels, self._size, index)
            yield Frame(index, index / self._frames_per_second, pixels)


class ArrayStream:
    """Pictures that arrive once, as from a camera; nothing is known of them before."""

    is_repeatable = False

    def __init__(self, pictures: Iterable[Any], frames_per_second: float) -> None:
        self._pictures = pictures
        self._frames_per_second = frames_per_second
        self._is_spent = False
        self.info = VideoInfo(name="stream", frames_per_second=frames_per_second)

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ...; the second call fails.

        A stream has no beginning to go back to: what it gives next *is* frame `start`.
        """
        check_stride(start, every)
        if self._is_spent:
            raise LocaterError("This stream of frames has been read already; give a list, an array or a file instead.")
        self._is_spent = True
        return self._frames(start, every)

    def _frames(self, start: int, every: int) -> Iterator[Frame]:
        size: tuple[int, int] | None = None
        for index, picture in enumerate(self._pictures, start):
            if (index - start) % every:
                continue
            pixels = as_pixels(picture, index)
            size = size or (pixels.shape[1], pixels.shape[0])
            check_size(pixels, size, index)
            yield Frame(index, index / self._frames_per_second, pixels)


def check_size(pixels: Pixels, size: tuple[int, int], index: int) -> None:
    """Nothing, when a picture is as large (width, height) as the first."""
    height, width = pixels.shape[:2]
    if (width, height) != size:
        raise LocaterError(
            f"Frame {index} is {width} x {height}, the first is {size[0]} x {size[1]}; make all frames the same size."
        )


class KeptFrames:
    """A source that keeps its frames when it is first read from the start, so that nobody decodes them again.

    Where they turn out to be more than `most_bytes`, whatever the file said of itself, none are kept.
    """

    is_repeatable = True

    def __init__(self, source: FrameSource, most_bytes: int) -> None:
        self._source = source
        self._most_bytes = most_bytes
        self._kept: list[Frame] | None = None
        self.info = source.info

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """The source's own frames."""
        check_stride(start, every)
        if self._kept is not None:
            return iter(self._kept[start::every])
        return self._source.frames(start, every) if start else self._read(every)

    def _read(self, every: int) -> Iterator[Frame]:
        kept: list[Frame] = []
        left = self._most_bytes
        for frame in self._source.frames():
            left -= frame.pixels.nbytes
            if left >= 0:
                kept.append(frame)
            else:
                kept.clear()
            if frame.index % every == 0:
                yield frame
        if left >= 0:
            self._kept = kept


def kept_if_small(source: FrameSource, most_bytes: int) -> FrameSource:
    """The source, its frames kept once they are decoded where all of them fit; any other as it is."""
    info = source.info
    if info.path is None or not (info.frame_count and info.width and info.height):
        return source  # most without a path are in memory already; of others nobody knows how long they are
    return KeptFrames(source, most_bytes) if 3 * info.frame_count * info.width * info.height <= most_bytes else source


def as_pixels(picture: Any, index: int) -> Pixels:
    """A caller's picture as (H, W, 3) uint8; a grey (H, W) one gets three equal channels."""
    array = _as_array(picture, index)
    if array.dtype != np.uint8:
        raise LocaterError(f"Frame {index} holds {array.dtype} values; give uint8 values from 0 to 255.")
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
        raise LocaterError(f"Frame {index} has the shape {array.shape}; give (height, width, 3) in RGB order.")
    return array


def _is_one_picture(pictures: object) -> bool:
    # Read as (T, H, W) it would be a grey video three pixels wide, or of three frames, which nobody gives as a tensor.
    if isinstance(pictures, Tensor):
        return pictures.ndim == 3 and 3 in (pictures.shape[0], pictures.shape[-1])
    return isinstance(pictures, np.ndarray) and pictures.ndim == 3 and pictures.shape[-1] == 3


def _as_array(picture: Any, index: int) -> npt.NDArray[Any]:
    """A picture of any kind as an array, tensors with their channels last."""
    if isinstance(picture, Image.Image):
        return upright(picture)
    if not isinstance(picture, Tensor):
        return np.asarray(picture)
    here = picture.detach().cpu()
    if here.is_floating_point():
        # Rounding may leave a normalised picture a hair outside; what was normalised otherwise is far outside.
        if not bool(((here >= -0.01) & (here <= 1.01)).all()):
            raise LocaterError(f"Frame {index} holds floats outside 0 to 1; give values from 0 to 1, or uint8 to 255.")
        here = (here.float() * 255).round().clamp(0, 255).to(torch.uint8)
    is_first, is_last = here.ndim == 3 and here.shape[0] == 3, here.ndim == 3 and here.shape[-1] == 3
    if is_first and is_last:
        raise LocaterError(f"Frame {index} is {tuple(here.shape)}, with 3 at both ends; give it as an array (H, W, 3).")
    array: npt.NDArray[Any] = (here.permute(1, 2, 0) if is_first else here).contiguous().numpy()
    return array
