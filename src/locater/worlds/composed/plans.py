"""Batches in two halves: what they hold (Python, in worker processes) and their pixels (one pass, on the device)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from locater.records import Batch
from locater.worlds.clips import (
    FRAME_COUNT,
    FRAMES_PER_SECOND,
    choose_kind,
    clip_indices,
    even_indices,
    frame_times,
)
from locater.worlds.composed.render import SceneBatch, render, slot_of
from locater.worlds.composed.scene import Scene, Studio
from locater.worlds.composed.textures import Textures
from locater.worlds.seeds import video_seed


@dataclass(frozen=True)
class BatchPlan:
    """Scenes and the frames wanted of them; numbers of pictures, no pixels; picklable."""

    scenes: SceneBatch
    indices: Tensor  # (B, T + T') int: the clip's frames, then the global ones
    clip_frames: int  # T
    referents: Tensor  # (B,) int: the place of the referent's mask; -1 where it is absent
    expressions: tuple[str, ...]
    frame_count: int
    frames_per_second: float


def plan_batch(
    studio: Studio,
    numbers: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    strides: Sequence[int] = (1,),
    kind_weights: Mapping[str, float] | None = None,
    split: str = "train",
) -> BatchPlan:
    """One training batch; row b depends on the pack, `numbers[b]` and the settings alone, not on its batch-mates."""
    scenes = [
        studio.scene(video_seed(split, choose_kind(n, kind_weights), n), FRAME_COUNT, FRAMES_PER_SECOND)
        for n in numbers
    ]
    everywhere = even_indices(FRAME_COUNT, global_frames)
    clips = [clip_indices(number, FRAME_COUNT, clip_frames, strides) for number in numbers]
    return _plan(scenes, [clip + everywhere for clip in clips], clip_frames)


def whole_video_plan(studio: Studio, kind: str, numbers: Sequence[int], split: str, interval: int) -> BatchPlan:
    """Whole videos of one kind, as inference sees them: every frame, and every `interval`-th for the global memory."""
    scenes = [studio.scene(video_seed(split, kind, number), FRAME_COUNT, FRAMES_PER_SECOND) for number in numbers]
    indices = [*range(FRAME_COUNT), *range(0, FRAME_COUNT, interval)]
    return _plan(scenes, [indices] * len(scenes), FRAME_COUNT)


def draw_batch(plan: BatchPlan, textures: Textures, size: int) -> Batch:
    """The plan's pixels and the referents' masks, drawn in one pass; every frame is annotated."""
    device = textures.device
    frames, masks = render(plan.scenes, textures, plan.indices, size)
    referents = plan.referents.to(device)
    rows = torch.arange(len(referents), device=device)
    truth = masks[rows, : plan.clip_frames, referents.clamp(min=0)] & (referents >= 0)[:, None, None, None]
    times = frame_times(plan.indices, plan.frame_count, plan.frames_per_second).to(device)
    return Batch(
        frames=frames[:, : plan.clip_frames],
        times=times[:, : plan.clip_frames],
        global_frames=frames[:, plan.clip_frames :],
        global_times=times[:, plan.clip_frames :],
        expressions=plan.expressions,
        masks=truth.float(),  # (B, T, S, S)
        is_annotated=torch.ones(truth.shape[:2], dtype=torch.bool, device=device),
    )


def _plan(scenes: Sequence[Scene], indices: list[list[int]], clip_frames: int) -> BatchPlan:
    return BatchPlan(
        scenes=SceneBatch.of(scenes),
        indices=torch.tensor(indices),
        clip_frames=clip_frames,
        referents=torch.tensor([-1 if s.referent is None else slot_of(s, s.referent) for s in scenes]),
        expressions=tuple(scene.expression for scene in scenes),
        frame_count=FRAME_COUNT,
        frames_per_second=FRAMES_PER_SECOND,
    )
