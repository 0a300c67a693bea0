"""Batches in two halves: what they hold (Python, in worker processes) and their pixels (one pass, on the device)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

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
from locater.worlds.seeds import video_seed
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Scene, sample_scene


@dataclass(frozen=True)
class BatchPlan:
    """Scenes and the frames wanted of them; small, on the CPU, and picklable."""

    scenes: SceneBatch
    indices: Tensor  # (B, T + T') int: the clip's frames, then the global ones
    clip_frames: int  # T
    referents: Tensor  # (B,) int: the referent's place among the objects; -1 where it is absent
    expressions: tuple[str, ...]
    frame_count: int
    frames_per_second: float


def plan_batch(
    numbers: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    strides: Sequence[int] = (1,),
    kind_weights: Mapping[str, float] | None = None,
    split: str = "train",
) -> BatchPlan:
    """One training batch; row b depends on `numbers[b]` and the settings alone, not on its batch-mates.

    A number names a sample within the split: its kind is drawn by `kind_weights`, the clip's stride from `strides`
    (0 spreads the clip over the whole video) and its place by the number.
    """
    scenes = [
        sample_scene(video_seed(split, choose_kind(n, kind_weights), n), FRAME_COUNT, FRAMES_PER_SECOND)
        for n in numbers
    ]
    everywhere = even_indices(FRAME_COUNT, global_frames)
    clips = [clip_indices(number, FRAME_COUNT, clip_frames, strides) for number in numbers]
    return _plan(scenes, [clip + everywhere for clip in clips], clip_frames)


def whole_video_plan(kind: str, numbers: Sequence[int], split: str, interval: int) -> BatchPlan:
    """Whole videos of one kind, as inference sees them: every frame, and every `interval`-th for the global memory."""
    scenes = [sample_scene(video_seed(split, kind, number), FRAME_COUNT, FRAMES_PER_SECOND) for number in numbers]
    indices = [*range(FRAME_COUNT), *range(0, FRAME_COUNT, interval)]
    return _plan(scenes, [indices] * len(scenes), FRAME_COUNT)


def draw_batch(plan: BatchPlan, size: int, device: str | torch.device = "cpu") -> Batch:
    """The plan's pixels and the referents' masks, drawn in one pass; every frame is annotated."""
    frames, masks = render(_moved(plan.scenes, device), plan.indices, size)
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
        referents=torch.tensor([-1 if scene.referent is None else scene.referent for scene in scenes]),
        expressions=tuple(scene.expression for scene in scenes),
        frame_count=FRAME_COUNT,
        frames_per_second=FRAMES_PER_SECOND,
    )


def _moved(scenes: SceneBatch, device: str | torch.device) -> SceneBatch:
    """The scenes' tensors on the device, but for the shapes' names, which steer the drawing from the CPU."""
    moved = {
        field.name: getattr(scenes, field.name).to(device, non_blocking=True)
        for field in fields(scenes)
        if field.name != "shape_ids"
    }
    return replace(scenes, **moved)
