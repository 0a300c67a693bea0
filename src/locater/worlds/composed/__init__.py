"""The composed world: cut-outs of real things moving over photographs, with checked sentences."""

from locater.worlds.composed.batches import BatchPlan, draw_batch, plan_batch, whole_video_plan
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.compose import Composed, Limits, Sources, compose
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.composed.world import ComposedVideo, ComposedWorld

__all__ = [
    "BatchPlan",
    "Composed",
    "ComposedVideo",
    "ComposedWorld",
    "Limits",
    "Pack",
    "Scene",
    "SceneSampler",
    "Sources",
    "Textures",
    "compose",
    "draw_batch",
    "plan_batch",
    "whole_video_plan",
]
