"""Training batches: scenes sampled, placed in time, and drawn in one pass."""

from collections.abc import Mapping, Sequence
from random import Random

import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.records import Batch
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import sample_scene
from locater.worlds.shapes.seeds import KINDS, video_seed


def choose_kind(number: int, weights: Mapping[str, float] | None) -> str:
    """The kind of a sample's sentence, drawn by its number alone; None: all kinds alike."""
    if weights is None:
        weights = dict.fromkeys(KINDS, 1.0)
    unknown = sorted(set(weights) - set(KINDS))
    if unknown:
        raise LocaterError(f"there is no kind of sentence {unknown[0]!r}; choose from {', '.join(KINDS)}.")
    return Random(2 * number + 1).choices(list(weights), list(weights.values()))[0]


def clip_indices(number: int, frame_count: int, clip_frames: int, stride: int | None) -> list[int]:
    """Frames of a clip: every `stride`-th from a random start, or, without a stride, evenly from frame 0 on."""
    if stride is None:
        return even_indices(frame_count, clip_frames)
    span = (clip_frames - 1) * stride + 1
    if span > frame_count:
        raise LocaterError(
            f"{clip_frames} frames with stride {stride} need {span} frames and the video has {frame_count}; "
            "choose fewer, a smaller stride, or a longer video."
        )
    start = Random(3 * number + 2).randrange(frame_count - span + 1)
    return [start + stride * index for index in range(clip_frames)]


def even_indices(frame_count: int, count: int) -> list[int]:
    """Every n-th frame from frame 0 on, so that `count` of them cover the video."""
    return [index * frame_count // count for index in range(count)]


def sample_batch(
    seeds: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    size: int,
    stride: int | None = 1,
    kind_weights: Mapping[str, float] | None = None,
    split: str = "train",
    frame_count: int = 32,
    frames_per_second: float = 8.0,
    device: str | torch.device = "cpu",
) -> Batch:
    """One training batch; row b depends on `seeds[b]` and the settings alone, not on its batch-mates.

    A seed is a sample's number within the split; its kind is drawn by `kind_weights`, its clip placed by `stride`.
    """
    scenes = [
        sample_scene(video_seed(split, choose_kind(seed, kind_weights), seed), frame_count, frames_per_second)
        for seed in seeds
    ]
    clips = [clip_indices(seed, frame_count, clip_frames, stride) for seed in seeds]
    everywhere = even_indices(frame_count, global_frames)
    indices = torch.tensor([clip + everywhere for clip in clips])  # (B, T + T')
    frames, masks = render(SceneBatch.of(scenes, device), indices, size)
    is_present = torch.tensor([scene.referent is not None for scene in scenes], device=masks.device)
    referents = torch.tensor([scene.referent or 0 for scene in scenes], device=masks.device)
    rows = torch.arange(len(scenes), device=masks.device)
    masks = masks[rows, :clip_frames, referents] & is_present[:, None, None, None]  # (B, T, S, S)
    times = frame_times(indices, frame_count, frames_per_second).to(masks.device)
    return Batch(
        frames=frames[:, :clip_frames],
        times=times[:, :clip_frames],
        global_frames=frames[:, clip_frames:],
        global_times=times[:, clip_frames:],
        expressions=tuple(scene.expression for scene in scenes),
        masks=masks.float(),
        is_annotated=torch.ones(masks.shape[:2], dtype=torch.bool, device=masks.device),
    )


def frame_times(indices: Tensor, frame_count: int, frames_per_second: float) -> Tensor:
    """Seconds, and the fraction of the video gone by when a frame appears, as inference has it, (B, T, 2)."""
    return torch.stack([indices / frames_per_second, indices / frame_count], dim=-1)
