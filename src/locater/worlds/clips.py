"""Which sentence and which frames a training sample takes, by its number alone."""

from collections.abc import Mapping, Sequence
from random import Random

import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.worlds.seeds import KINDS

FRAME_COUNT = 32
FRAMES_PER_SECOND = 8.0


def choose_kind(number: int, weights: Mapping[str, float] | None) -> str:
    """The kind of a sample's sentence, drawn by its number alone; None: all kinds alike."""
    if weights is None:
        weights = dict.fromkeys(KINDS, 1.0)
    unknown = sorted(set(weights) - set(KINDS))
    if unknown:
        raise LocaterError(f"There is no kind of sentence {unknown[0]!r}; choose from {', '.join(KINDS)}.")
    return Random(2 * number + 1).choices(list(weights), list(weights.values()))[0]


def clip_indices(number: int, frame_count: int, clip_frames: int, strides: Sequence[int]) -> list[int]:
    """Frames of a clip: every n-th from a random start; a stride of 0 spreads them evenly over the whole video."""
    rng = Random(3 * number + 2)
    stride = rng.choice(strides)
    if stride == 0:
        offset = rng.randrange(max(1, frame_count // clip_frames))  # so that every frame has its turn
        return [offset + index for index in even_indices(frame_count, clip_frames)]
    span = (clip_frames - 1) * stride + 1
    if span > frame_count:
        raise LocaterError(
            f"{clip_frames} frames with stride {stride} need {span} frames and the video has {frame_count}; "
            "choose fewer or a smaller stride."
        )
    start = rng.randrange(frame_count - span + 1)
    return [start + stride * index for index in range(clip_frames)]


def even_indices(frame_count: int, count: int) -> list[int]:
    """Every n-th frame from frame 0 on, so that `count` of them cover the video."""
    return [index * frame_count // count for index in range(count)]


def frame_times(indices: Tensor, frame_count: int, frames_per_second: float) -> Tensor:
    """Seconds, and the fraction of the video gone by when a frame appears, (B, T, 2)."""
    return torch.stack([indices / frames_per_second, indices / frame_count], dim=-1)
