"""Batches of the composed world."""

from collections.abc import Mapping, Sequence

from locater.records import Batch
from locater.worlds import plans
from locater.worlds.composed.render import SceneBatch, render, slot_of
from locater.worlds.composed.scene import Scene, Studio
from locater.worlds.composed.textures import Textures

BatchPlan = plans.BatchPlan[SceneBatch]  # numbers of pictures, no pixels


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
    """One training batch, as `plans.plan_clips` says; it depends on the pack, too."""
    return plans.plan_clips(
        studio.scene,
        _packed,
        numbers,
        clip_frames=clip_frames,
        global_frames=global_frames,
        strides=strides,
        kind_weights=kind_weights,
        split=split,
    )


def whole_video_plan(studio: Studio, kind: str, numbers: Sequence[int], split: str, interval: int) -> BatchPlan:
    """Whole videos of one kind, as inference sees them."""
    return plans.plan_whole_videos(studio.scene, _packed, kind, numbers, split, interval)


def draw_batch(plan: BatchPlan, textures: Textures, size: int) -> Batch:
    """The plan's pixels and the referents' masks, drawn in one pass; every frame is annotated."""
    frames, masks = render(plan.scenes, textures, plan.indices, size)
    return plans.batch_of(plan, frames, masks)


def _packed(scenes: Sequence[Scene]) -> tuple[SceneBatch, list[int]]:
    return SceneBatch.of(scenes), [-1 if s.referent is None else slot_of(s, s.referent) for s in scenes]
