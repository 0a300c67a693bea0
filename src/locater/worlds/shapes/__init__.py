"""The shapes world: procedural videos of moving shapes with checked sentences."""

from locater.worlds.seeds import KINDS, SPLITS, parts_of_seed, video_seed
from locater.worlds.shapes.batches import BatchPlan, draw_batch, plan_batch, whole_video_plan
from locater.worlds.shapes.looks import HELD_OUT_PAIRS, LEXICON
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Question, Scene, sample_scene
from locater.worlds.shapes.world import SceneFrames, ShapesWorld, vocabulary

__all__ = [
    "HELD_OUT_PAIRS",
    "KINDS",
    "LEXICON",
    "SPLITS",
    "BatchPlan",
    "Question",
    "Scene",
    "SceneBatch",
    "SceneFrames",
    "ShapesWorld",
    "draw_batch",
    "parts_of_seed",
    "plan_batch",
    "render",
    "sample_scene",
    "video_seed",
    "vocabulary",
    "whole_video_plan",
]
