"""Batches of the shapes world."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import torch

from locater.records import Batch
from locater.worlds import batches as plans
from locater.worlds.extra_questions import questions_to
from locater.worlds.shapes.looks import LEXICON
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Scene, sample_scene

BatchPlan = plans.BatchPlan[SceneBatch]


def plan_batch(
    numbers: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    strides: Sequence[int] = (1,),
    kind_weights: Mapping[str, float] | None = None,
    sentences: int = 1,
    split: str = "train",
) -> BatchPlan:
    """One training batch, as `plans.plan_clips` says."""
    return plans.plan_clips(
        sample_scene,
        _packed,
        numbers,
        clip_frames=clip_frames,
        global_frames=global_frames,
        strides=strides,
        kind_weights=kind_weights,
        sentences=sentences,
        split=split,
    )


def whole_video_plan(kind: str, numbers: Sequence[int], split: str, interval: int) -> BatchPlan:
    """Whole videos of one kind, as inference sees them."""
    return plans.plan_whole_videos(sample_scene, _packed, kind, numbers, split, interval)


def draw_batch(plan: BatchPlan, size: int, device: str | torch.device = "cpu") -> Batch:
    """The plan's pixels and the referents' masks, drawn in one pass; every frame is annotated."""
    frames, masks = render(_moved(plan.scenes, device), plan.indices, size)
    return plans.batch_of(plan, frames, masks)


def _packed(scenes: Sequence[Scene], sentences: int) -> tuple[SceneBatch, list[plans.Questions], list[list[int]]]:
    asked = [questions_to(scene, sentences, LEXICON) for scene in scenes]
    questions = [[(text, -1 if actor is None else actor) for text, actor in row] for row in asked]
    return SceneBatch.of(scenes), questions, [list(scene.actor_of_member) for scene in scenes]


def _moved(scenes: SceneBatch, device: str | torch.device) -> SceneBatch:
    """The scenes' tensors on the device, but for the shapes' names, which steer the drawing from the CPU."""
    moved = {
        field.name: getattr(scenes, field.name).to(device, non_blocking=True)
        for field in fields(scenes)
        if field.name != "shape_ids"
    }
    return replace(scenes, **moved)
