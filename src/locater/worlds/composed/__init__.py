"""The composed world: cut-outs of real things moving over photographs, with checked sentences."""

from locater.worlds.composed.batches import composed_batches
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.compose import Composed, Limits, Sources, compose
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.composed.world import ComposedVideo, ComposedWorld

__all__ = [
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
    "composed_batches",
]
