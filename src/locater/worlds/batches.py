"""Batches of any world in two halves: what they hold (Python, in worker processes) and their pixels (on the device)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import torch
from torch import Tensor
from torch.nn import functional as F

from locater.records import Batch
from locater.worlds.clips import (
    FRAME_COUNT,
    FRAMES_PER_SECOND,
    choose_kind,
    clip_indices,
    even_indices,
    frame_times,
)
from locater.worlds.motion_targets import MOTION_TARGETS, motion_targets
from locater.worlds.scene_objects import SceneObjects
from locater.worlds.seeds import video_seed

CELL = 8  # pixels a side of a place whose motion targets are told


class StagedScene(Protocol):
    """A video without its pixels."""

    @property
    def objects(self) -> SceneObjects:
        """What sentences are checked against."""
        ...


SceneT = TypeVar("SceneT", bound=StagedScene)
PackedT = TypeVar("PackedT")
SceneOf = Callable[[int, int, float], SceneT]  # seed, frames, frames a second
Questions = list[tuple[str, int]]  # sentences to one scene, each with the place of its referent's mask; -1: absent
# Scenes as tensors, so many questions to each, and the places of the masks of each scene's objects.
Pack = Callable[[Sequence[SceneT], int], tuple[PackedT, list[Questions], list[list[int]]]]


@dataclass(frozen=True)
class BatchPlan(Generic[PackedT]):
    """Scenes and the frames wanted of them; small, on the CPU, and picklable."""

    scenes: PackedT
    indices: Tensor  # (B, T + T') int: the clip's frames, then the global ones
    clip_frames: int  # T
    referents: Tensor  # (B, E) int: the place of the referent's mask; -1 where it is absent
    expressions: tuple[str, ...]  # B * E, those of one scene side by side
    motion_targets: Tensor  # (B, M, C): what the object of each mask does; zeros where none is known


def plan_clips(
    scene_of: SceneOf[SceneT],
    pack: Pack[SceneT, PackedT],
    numbers: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    strides: Sequence[int],
    kind_weights: Mapping[str, float] | None,
    sentences: int,
    split: str,
) -> BatchPlan[PackedT]:
    """One training batch; row b depends on `numbers[b]` and the settings alone, not on its batch-mates.

    A number names a sample within the split: its kind is drawn by `kind_weights`, the clip's stride from `strides`
    (0 spreads the clip over the whole video) and its place by the number. Each clip is asked `sentences` questions.
    """
    seeds = [video_seed(split, choose_kind(number, kind_weights), number) for number in numbers]
    scenes = [scene_of(seed, FRAME_COUNT, FRAMES_PER_SECOND) for seed in seeds]
    everywhere = even_indices(FRAME_COUNT, global_frames)
    clips = [clip_indices(number, FRAME_COUNT, clip_frames, strides) for number in numbers]
    return _plan(scenes, pack, [clip + everywhere for clip in clips], clip_frames, sentences)


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
    return _plan(scenes, pack, [indices] * len(scenes), FRAME_COUNT, sentences=1)


def batch_of(plan: BatchPlan[PackedT], frames: Tensor, masks: Tensor) -> Batch:
    """The batch of a plan's pixels (B, T + T', 3, S, S) and every object's masks (B, T + T', N, S, S)."""
    device = frames.device
    referents = plan.referents.to(device)  # (B, E)
    rows = torch.arange(len(referents), device=device).unsqueeze(-1)
    truth = masks[rows, : plan.clip_frames, referents.clamp(min=0)] & (referents >= 0)[..., None, None, None]
    truth = truth.flatten(0, 1)  # (B * E, T, S, S)
    motion_targets = _motion_targets_in_place(plan.motion_targets.to(device), masks[:, : plan.clip_frames])
    times = frame_times(plan.indices, FRAME_COUNT, FRAMES_PER_SECOND).to(device)
    return Batch(
        frames=frames[:, : plan.clip_frames],
        times=times[:, : plan.clip_frames],
        global_frames=frames[:, plan.clip_frames :],
        global_times=times[:, plan.clip_frames :],
        expressions=plan.expressions,
        masks=truth.float(),
        is_annotated=torch.ones(truth.shape[:2], dtype=torch.bool, device=device),
        motion_targets=motion_targets,
    )


def _plan(
    scenes: Sequence[SceneT], pack: Pack[SceneT, PackedT], indices: list[list[int]], clip_frames: int, sentences: int
) -> BatchPlan[PackedT]:
    packed, questions, places = pack(scenes, sentences)
    known = torch.zeros(len(scenes), 1 + max(max(row, default=0) for row in places), len(MOTION_TARGETS))
    for b, (scene, row) in enumerate(zip(scenes, places, strict=True)):
        known[b, row] = torch.from_numpy(motion_targets(scene.objects)[: len(row)])
    return BatchPlan(
        scenes=packed,
        indices=torch.tensor(indices),
        clip_frames=clip_frames,
        referents=torch.tensor([[place for _, place in row] for row in questions]),
        expressions=tuple(expression for row in questions for expression, _ in row),
        motion_targets=known,
    )


def _motion_targets_in_place(motion_targets: Tensor, masks: Tensor) -> Tensor:
    """`Batch.motion_targets` (B, T, C + 1, h, w) of a clip's masks (B, T, N, S, S), at an eighth of their size."""
    count = motion_targets.shape[1]  # masks past it are padding, or things of which nothing is known
    batch, frames, _, side, _ = masks.shape
    pooled = F.avg_pool2d(masks[:, :, :count].flatten(0, 1).half(), CELL)
    cover = pooled.view(batch, frames, count, side // CELL, side // CELL)
    known = torch.cat([motion_targets, motion_targets.new_ones(*motion_targets.shape[:2], 1)], dim=-1).to(cover.dtype)
    return torch.einsum("btnhw,bnc->btchw", cover, known).float()
