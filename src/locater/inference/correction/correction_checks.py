"""Corrections that can be made of a video, merged by frame and sentence; what cannot be is told before the work."""

import math
from collections.abc import Sequence
from dataclasses import replace

from locater.errors import LocaterError
from locater.records import Correction, VideoInfo, Views


def check_plain(views: Views) -> None:
    """Nothing, where a video is seen in the one view in which masks can be put right."""
    if views != Views():
        raise LocaterError("Masks are put right in the plain view; leave scales and flip out where there are clicks.")


def checked_corrections(
    corrections: Sequence[Correction], sentences: Sequence[str], info: VideoInfo
) -> tuple[Correction, ...]:
    """One correction per frame and sentence, in the order in which the first of each was made."""
    merged: dict[tuple[int, int], Correction] = {}
    for told in corrections:
        _check(told, len(sentences), info)
        before = merged.get((told.expression, told.frame), told)
        merged[told.expression, told.frame] = replace(
            told,
            clicks=told.clicks if before is told else before.clicks + told.clicks,
            box=told.box or before.box,
            mask=before.mask if told.mask is None else told.mask,
        )
    for place, sentence in enumerate(sentences):
        if not sentence and all(told.expression != place for told in merged.values()):
            raise LocaterError("Expression '' holds no words; say what to segment, or click it in a frame.")
    return tuple(merged.values())


def check_size(told: Correction, height: int, width: int) -> None:
    """Nothing, for a correction that fits a frame of this size."""
    for click in told.clicks:
        if not (0 <= click.x < width and 0 <= click.y < height):
            raise LocaterError(
                f"The click at {click.x:g},{click.y:g} in frame {told.frame} is outside the picture, which is "
                f"{width} x {height} pixels; click inside it."
            )
    if told.box is not None:
        left, top, right, bottom = told.box
        if not (left < right and top < bottom and left < width and top < height and right > 0 and bottom > 0):
            raise LocaterError(
                f"The box {left:g},{top:g},{right:g},{bottom:g} in frame {told.frame} holds nothing of the picture, "
                f"which is {width} x {height} pixels; give left, top, right, bottom."
            )
    if told.mask is not None and told.mask.shape != (height, width):
        raise LocaterError(
            f"The mask for frame {told.frame} is {told.mask.shape[1]} x {told.mask.shape[0]} pixels, the picture "
            f"{width} x {height}; make it as large as the picture."
        )


def _check(told: Correction, sentences: int, info: VideoInfo) -> None:
    if not 0 <= told.expression < sentences:
        raise LocaterError(f"Sentence {told.expression + 1} is corrected, but there are {sentences}.")
    if told.frame < 0 or (info.frame_count is not None and told.frame >= info.frame_count):
        known = "" if info.frame_count is None else f", and the video has {info.frame_count}"
        raise LocaterError(f"There is no frame {told.frame} to correct: frames are numbered from 0{known}.")
    numbers = [*(value for click in told.clicks for value in (click.x, click.y)), *(told.box or ())]
    if not all(math.isfinite(value) for value in numbers):
        raise LocaterError(f"The correction of frame {told.frame} holds something that is no number.")
    if not told.clicks and told.box is None and told.mask is None:
        raise LocaterError(f"The correction of frame {told.frame} says nothing; give it clicks, a box or a mask.")
    if info.width is not None and info.height is not None:
        check_size(told, info.height, info.width)
