"""Whether a sentence fits a second thing: what it found is painted over, and it is asked again.

A mask does not tell: of two things that fit, a network that learned sentences about one thing marks one, and its soft
mask has next to nothing on the other (docs/reproduction.md). Without the first it marks the second.
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from locater.inference.segmenter import Segmenter
from locater.records import Frame, FrameMasks, Mask, Pixels, VideoInfo, Views

FRAMES = 12  # at least so many are kept of a longer video, evenly spread
SIDE = 512  # pixels: they are kept no larger
SECOND = 0.3  # of the first answer's pixels: so much marked elsewhere is a second thing
_MARGIN = 0.025  # of the longer side: painted beyond a mask, whose edge may lie within the thing


class AskingAgain:
    """Keeps some frames of a video with their masks, and asks again when it is done; memory is bounded."""

    def __init__(self) -> None:
        self._kept: list[tuple[Frame, tuple[Mask, ...]]] = []
        self._every = 1
        self._seen = 0

    def take(self, result: FrameMasks) -> None:
        """One frame more."""
        if self._seen % self._every == 0:
            small = _small(result.frame.pixels)
            masks = tuple(_resized(mask, small.shape[:2]) for mask in result.masks)
            self._kept.append((Frame(len(self._kept), result.frame.timestamp, small), masks))
            if len(self._kept) >= 2 * FRAMES:
                self._kept = self._kept[::2]
                self._every *= 2
        self._seen += 1

    def fits_second(
        self,
        segmenter: Segmenter,
        expression: str,
        place: int,
        info: VideoInfo,
        views: Views,
        threshold: float | None = None,
    ) -> bool:
        """Whether the sentence at a place among the results' finds something else once its answer is painted over.

        It is asked as it was the first time, in the same views, and what scores below the threshold is nothing.
        """
        masks = [masks[place] for _, masks in self._kept]
        first = sum(int(mask.sum()) for mask in masks)
        if first == 0:
            return False
        holes = [_grown(mask) for mask in masks]
        source = _Painted([frame for frame, _ in self._kept], holes, info)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what was to be said of the sentence was said the first time
            results = segmenter.segment(source, expression, mode="file", anyway=True, threshold=threshold, views=views)
            second = sum(int((each.masks[0] & ~hole).sum()) for each, hole in zip(results, holes, strict=True))
        return second >= SECOND * first


class _Painted:
    """A video's kept frames with something painted over; a `FrameSource`."""

    is_repeatable = True

    def __init__(self, frames: Sequence[Frame], holes: Sequence[Mask], info: VideoInfo) -> None:
        height, width = frames[0].pixels.shape[:2]
        self.info = VideoInfo(info.name, width, height, len(frames), duration=info.duration)
        self._frames = [
            Frame(index, frame.timestamp, painted_over(frame.pixels, hole))
            for index, (frame, hole) in enumerate(zip(frames, holes, strict=True))
        ]

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """Frames `start`, `start + every`, ..."""
        return iter(self._frames[start::every])


def painted_over(pixels: Pixels, hole: Mask) -> Pixels:
    """A frame whose hole is filled with what lies around it, the nearer the finer."""
    known = torch.from_numpy((~hole).astype(np.float32))[None, None]
    values = torch.from_numpy(pixels.astype(np.float32)).permute(2, 0, 1)[None]
    filled = _filled(values * known, known)[0].permute(1, 2, 0).round().clamp(0, 255)
    return np.where(hole[..., None], filled.numpy().astype(np.uint8), pixels)


def _filled(values: Tensor, known: Tensor) -> Tensor:
    """Values (1, 3, h, w), known in part: where nothing is known, those of half the size."""
    own = values / known.clamp(min=1e-6)
    if bool((known > 0).all()) or max(known.shape[-2:]) == 1:
        return own
    coarse = _filled(*(F.avg_pool2d(each, 2, ceil_mode=True) for each in (values, known)))
    return torch.where(known > 0, own, F.interpolate(coarse, known.shape[-2:], mode="bilinear", align_corners=False))


def _small(pixels: Pixels) -> Pixels:
    height, width = pixels.shape[:2]
    scale = min(1.0, SIDE / max(height, width))
    if scale == 1:
        return pixels.copy()
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR))


def _resized(mask: Mask, size: tuple[int, ...]) -> Mask:
    height, width = size[:2]
    return np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST), dtype=np.bool_)


def _grown(mask: Mask) -> Mask:
    margin = max(1, round(_MARGIN * max(mask.shape)))
    grown = F.max_pool2d(
        torch.from_numpy(mask.astype(np.float32))[None, None], 2 * margin + 1, stride=1, padding=margin
    )
    return np.asarray(grown[0, 0].numpy() > 0)
