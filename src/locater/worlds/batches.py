"""Batches of any world in two halves: what they hold (Python, in worker processes) and their pixels (on the device)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

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
from locater.worlds.describing import DescribedScene
from locater.worlds.grammar import Lexicon
from locater.worlds.motion_targets import MOTION_TARGETS, motion_targets
from locater.worlds.seeds import video_seed

CELL = 8  # pixels per side of a place whose motion targets are told


SceneT = TypeVar("SceneT", bound=DescribedScene)
PackedT = TypeVar("PackedT")
SceneOf = Callable[[int, int, float], SceneT]  # seed, frames, frames per second
# Sentences to one scene, each with the places of the masks that it means as one; none: absent.
Questions = list[tuple[str, tuple[int, ...]]]
# Scenes as tensors, so many questions to each, and the places of the masks of each scene's objects.
Pack = Callable[[Sequence[SceneT], int], tuple[PackedT, list[Questions], list[list[int]]]]
# Of packed scenes, frame numbers (B, T), pixels per side and a device: frames (B, T, 3, S, S), masks (B, T, N, S, S).
Render = Callable[[PackedT, Tensor, int, torch.device], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class ClipSettings:
    """What a training clip is cut from, and what it is asked."""

    clip_frames: int
    global_frames: int
    strides: Sequence[int] = (1,)  # one is drawn per clip; 0 spreads the clip over the whole video
    kind_weights: Mapping[str, float] | None = None  # how often each kind of sentence is drawn; None: all alike
    sentences: int = 1  # questions to each clip
    split: str = "train"


@dataclass(frozen=True)
class BatchPlan(Generic[PackedT]):
    """Scenes and the frames wanted of them; small, on the CPU, and picklable."""

    scenes: PackedT
    indices: Tensor  # (B, T + T') int: the clip's frames, then the global ones
    clip_frames: int  # T
    referents: Tensor  # (B, E, K) int: the places of the masks that are meant as one; -1 is none
    expressions: tuple[str, ...]  # B * E, those of one scene side by side
    motion_targets: Tensor  # (B, M, C): what the object of each mask does; zeros where none is known


@dataclass(frozen=True)
class WorldBatches(Generic[SceneT, PackedT]):
    """Batches of one world: how a scene is sampled, how scenes are packed, and how they are drawn."""

    world: str  # its name, as messages say it
    lexicon: Lexicon
    scene_of: SceneOf[SceneT]
    pack: Pack[SceneT, PackedT]
    render: Render[PackedT]

    def clips(self, numbers: Sequence[int], settings: ClipSettings) -> BatchPlan[PackedT]:
        """One training batch; row b depends on `numbers[b]` and the settings alone, not on its batch-mates.

        A number names a sample within the split: it decides the kind of sentence, the clip's stride and its place.
        """
        kinds = [choose_kind(number, settings.kind_weights) for number in numbers]
        scenes = [self._scene(settings.split, kind, number) for kind, number in zip(kinds, numbers, strict=True)]
        everywhere = even_indices(FRAME_COUNT, settings.global_frames)
        clips = [clip_indices(number, FRAME_COUNT, settings.clip_frames, settings.strides) for number in numbers]
        return self._plan(scenes, [clip + everywhere for clip in clips], settings.clip_frames, settings.sentences)

    def whole_videos(self, kind: str, numbers: Sequence[int], split: str, interval: int) -> BatchPlan[PackedT]:
        """Whole videos of one kind, as inference sees them: every frame, and each `interval`-th for global memory."""
        scenes = [self._scene(split, kind, number) for number in numbers]
        indices = [*range(FRAME_COUNT), *range(0, FRAME_COUNT, interval)]
        return self._plan(scenes, [indices] * len(scenes), FRAME_COUNT, sentences=1)

    def draw(self, plan: BatchPlan[PackedT], size: int, device: str | torch.device = "cpu") -> Batch:
        """The plan's pixels and the referents' masks, drawn in one pass; every frame is annotated."""
        frames, masks = self.render(plan.scenes, plan.indices, size, torch.device(device))
        return batch_of(plan, frames, masks)

    def _scene(self, split: str, kind: str, number: int) -> SceneT:
        return self.scene_of(video_seed(split, kind, number), FRAME_COUNT, FRAMES_PER_SECOND)

    def _plan(
        self, scenes: Sequence[SceneT], indices: list[list[int]], clip_frames: int, sentences: int
    ) -> BatchPlan[PackedT]:
        packed, questions, places = self.pack(scenes, sentences)
        known = torch.zeros(len(scenes), 1 + max(max(row, default=0) for row in places), len(MOTION_TARGETS))
        for b, (scene, row) in enumerate(zip(scenes, places, strict=True)):
            known[b, row] = torch.from_numpy(motion_targets(scene.objects)[: len(row)])
        return BatchPlan(
            scenes=packed,
            indices=torch.tensor(indices),
            clip_frames=clip_frames,
            referents=_places_of(questions),
            expressions=tuple(expression for row in questions for expression, _ in row),
            motion_targets=known,
        )


def batch_of(plan: BatchPlan[PackedT], frames: Tensor, masks: Tensor) -> Batch:
    """The batch of a plan's pixels (B, T + T', 3, S, S) and every object's masks (B, T + T', N, S, S)."""
    device = frames.device
    referents = plan.referents.to(device)  # (B, E, K)
    rows = torch.arange(len(referents), device=device)[:, None]
    truth = torch.zeros((), dtype=torch.bool, device=device)
    for places in referents.unbind(-1):  # mostly one
        truth = truth | masks[rows, : plan.clip_frames, places.clamp(min=0)] & (places >= 0)[..., None, None, None]
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


def _places_of(questions: Sequence[Questions]) -> Tensor:
    """`BatchPlan.referents` (B, E, K)."""
    most = max(1, *(len(places) for row in questions for _, places in row))
    return torch.tensor([[[*places, *(-1,) * (most - len(places))] for _, places in row] for row in questions])


def _motion_targets_in_place(motion_targets: Tensor, masks: Tensor) -> Tensor:
    """`Batch.motion_targets` (B, T, C + 1, h, w) of a clip's masks (B, T, N, S, S), at an eighth of their size."""
    count = motion_targets.shape[1]  # masks past it are padding, or things of which nothing is known
    batch, frames, _, side, _ = masks.shape
    pooled = F.avg_pool2d(masks[:, :, :count].flatten(0, 1).half(), CELL)
    cover = pooled.view(batch, frames, count, side // CELL, side // CELL)
    known = torch.cat([motion_targets, motion_targets.new_ones(*motion_targets.shape[:2], 1)], dim=-1).to(cover.dtype)
    return torch.einsum("btnhw,bnc->btchw", cover, known).float()
