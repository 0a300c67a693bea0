"""The composed world: cut-outs of real things moving over photographs, with checked sentences."""

from locater.worlds.composed.compose import Composed, Limits, Sources, compose
from locater.worlds.composed.pack import Pack
from locater.worlds.composed.plans import BatchPlan, draw_batch, plan_batch, whole_video_plan
from locater.worlds.composed.scene import Scene, Studio
from locater.worlds.composed.textures import Textures
from locater.worlds.composed.world import ComposedVideo, ComposedWorld

__all__ = [
    "BatchPlan",
    "Composed",
    "ComposedVideo",
    "ComposedWorld",
    "Limits",
    "Pack",
    "Scene",
    "Sources",
    "Studio",
    "Textures",
    "compose",
    "draw_batch",
    "plan_batch",
    "whole_video_plan",
]
