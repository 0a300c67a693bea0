"""Batches of the composed world."""

from collections.abc import Mapping, Sequence
from functools import partial

from locater.records import Batch
from locater.worlds import batches as plans
from locater.worlds.composed.draw.render import SceneBatch, render, slot_of
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.extra_questions import questions_to

BatchPlan = plans.BatchPlan[SceneBatch]  # numbers of pictures, no pixels


def plan_batch(
    sampler: SceneSampler,
    numbers: Sequence[int],
    *,
    clip_frames: int,
    global_frames: int,
    strides: Sequence[int] = (1,),
    kind_weights: Mapping[str, float] | None = None,
    sentences: int = 1,
    split: str = "train",
) -> BatchPlan:
    """One training batch, as `plans.plan_clips` says; it depends on the pack, too."""
    return plans.plan_clips(
        sampler.scene,
        partial(_packed, sampler),
        numbers,
        clip_frames=clip_frames,
        global_frames=global_frames,
        strides=strides,
        kind_weights=kind_weights,
        sentences=sentences,
        split=split,
    )


def whole_video_plan(sampler: SceneSampler, kind: str, numbers: Sequence[int], split: str, interval: int) -> BatchPlan:
    """Whole videos of one kind, as inference sees them."""
    return plans.plan_whole_videos(sampler.scene, partial(_packed, sampler), kind, numbers, split, interval)


def draw_batch(plan: BatchPlan, textures: Textures, size: int) -> Batch:
    """The plan's pixels and the referents' masks, drawn in one pass; every frame is annotated."""
    frames, masks = render(plan.scenes, textures, plan.indices, size)
    return plans.batch_of(plan, frames, masks)


def _packed(
    sampler: SceneSampler, scenes: Sequence[Scene], sentences: int
) -> tuple[SceneBatch, list[plans.Questions], list[list[int]]]:
    asked = [questions_to(scene, sentences, sampler.lexicon, partial(sampler.nobody, scene)) for scene in scenes]
    questions = [
        [(text, -1 if actor is None else slot_of(scene, actor)) for text, actor in row]
        for scene, row in zip(scenes, asked, strict=True)
    ]
    return SceneBatch.of(scenes), questions, [[slot_of(s, actor) for actor in s.actor_of_member] for s in scenes]
