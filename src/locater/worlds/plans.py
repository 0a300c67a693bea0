"""Batches of any world in two halves: what they hold (Python, in worker processes) and their pixels (on the device)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

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


class AskedScene(Protocol):
    """A video without its pixels, with one question to it."""

    @property
    def expression(self) -> str:
        """The sentence."""
        ...


SceneT = TypeVar("SceneT", bound=AskedScene)
PackedT = TypeVar("PackedT")
SceneOf = Callable[[int, int, float], SceneT]  # seed, frames, frames a second
Pack = Callable[[Sequence[SceneT]], tuple[PackedT, list[int]]]  # scenes as tensors; each referent's mask, -1: absent


@dataclass(frozen=True)
class BatchPlan(Generic[PackedT]):
    """Scenes and the frames wanted of them; small, on the CPU, and picklable."""

    scenes: PackedT
    indices: Tensor  # (B, T + T') int: the clip's frames, then the global ones
    clip_frames: int  # T
    referents: Tensor  # (B,) int: the place of the referent's mask; -1 where it is absent
    expressions: tuple[str, ...]


def plan_clips(
    scene_of: SceneOf[SceneT],
    pack: Pack[SceneT, PackedT],
    numbers: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    strides: Sequence[int],
    kind_weights: Mapping[str, float] | None,
    split: str,
) -> BatchPlan[PackedT]:
    """One training batch; row b depends on `numbers[b]` and the settings alone, not on its batch-mates.

    A number names a sample within the split: its kind is drawn by `kind_weights`, the clip's stride from `strides`
    (0 spreads the clip over the whole video) and its place by the number.
    """
    seeds = [video_seed(split, choose_kind(number, kind_weights), number) for number in numbers]
    scenes = [scene_of(seed, FRAME_COUNT, FRAMES_PER_SECOND) for seed in seeds]
    everywhere = even_indices(FRAME_COUNT, global_frames)
    clips = [clip_indices(number, FRAME_COUNT, clip_frames, strides) for number in numbers]
    return _plan(scenes, pack, [clip + everywhere for clip in clips], clip_frames)


def plan_whole_videos(
    scene_of: SceneOf[SceneT],
    pack: Pack[SceneT, PackedT],
    kind: str,
    numbers: Sequence[int],
    split: str,
    interval: int,
) -> BatchPlan[PackedT]:
    """Whole videos of one kind, as inference sees them: every frame, and every `interval`-th for the global memory."""
    scenes = [scene_of(video_seed(split, kind, number), FRAME_COUNT, FRAMES_PER_SECOND) for number in numbers]
    indices = [*range(FRAME_COUNT), *range(0, FRAME_COUNT, interval)]
    return _plan(scenes, pack, [indices] * len(scenes), FRAME_COUNT)


def batch_of(plan: BatchPlan[PackedT], frames: Tensor, masks: Tensor) -> Batch:
    """The batch of a plan's pixels (B, T + T', 3, S, S) and every object's masks (B, T + T', N, S, S)."""
    device = frames.device
    referents = plan.referents.to(device)
    rows = torch.arange(len(referents), device=device)
    truth = masks[rows, : plan.clip_frames, referents.clamp(min=0)] & (referents >= 0)[:, None, None, None]
    times = frame_times(plan.indices, FRAME_COUNT, FRAMES_PER_SECOND).to(device)
    return Batch(
        frames=frames[:, : plan.clip_frames],
        times=times[:, : plan.clip_frames],
        global_frames=frames[:, plan.clip_frames :],
        global_times=times[:, plan.clip_frames :],
        expressions=plan.expressions,
        masks=truth.float(),  # (B, T, S, S)
        is_annotated=torch.ones(truth.shape[:2], dtype=torch.bool, device=device),
    )


def _plan(
    scenes: Sequence[SceneT], pack: Pack[SceneT, PackedT], indices: list[list[int]], clip_frames: int
) -> BatchPlan[PackedT]:
    packed, referents = pack(scenes)
    return BatchPlan(
        scenes=packed,
        indices=torch.tensor(indices),
        clip_frames=clip_frames,
        referents=torch.tensor(referents),
        expressions=tuple(scene.expression for scene in scenes),
    )
