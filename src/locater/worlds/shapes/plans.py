"""Batches in two halves: what they hold (Python, in worker processes) and their pixels (one pass, on the device)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from random import Random

import torch
from torch import Tensor

from locater.errors import LocaterError
from locater.records import Batch
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Scene, sample_scene
from locater.worlds.shapes.seeds import KINDS, video_seed

FRAME_COUNT = 32
FRAMES_PER_SECOND = 8.0


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


def choose_kind(number: int, weights: Mapping[str, float] | None) -> str:
    """The kind of a sample's sentence, drawn by its number alone; None: all kinds alike."""
    if weights is None:
        weights = dict.fromkeys(KINDS, 1.0)
    unknown = sorted(set(weights) - set(KINDS))
    if unknown:
        raise LocaterError(f"There is no kind of sentence {unknown[0]!r}; choose from {', '.join(KINDS)}.")
    return Random(2 * number + 1).choices(list(weights), list(weights.values()))[0]


def clip_indices(number: int, frame_count: int, clip_frames: int, strides: Sequence[int]) -> list[int]:
    """Frames of a clip: every n-th from a random start, or, for a stride of 0, evenly over the whole video."""
    rng = Random(3 * number + 2)
    stride = rng.choice(strides)
    if stride == 0:
        return even_indices(frame_count, clip_frames)
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
