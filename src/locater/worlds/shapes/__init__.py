"""The shapes world: procedural videos of moving shapes with checked sentences."""

from locater.worlds.seeds import KINDS, SPLITS, parts_of_seed, video_seed
from locater.worlds.shapes.batches import shapes_batches
from locater.worlds.shapes.looks import HELD_OUT_PAIRS, LEXICON
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Question, Scene, sample_scene
from locater.worlds.shapes.world import SceneFrames, ShapesWorld, vocabulary

__all__ = [
    "HELD_OUT_PAIRS",
    "KINDS",
    "LEXICON",
    "SPLITS",
    "Question",
    "Scene",
    "SceneBatch",
    "SceneFrames",
    "ShapesWorld",
    "parts_of_seed",
    "render",
    "sample_scene",
    "shapes_batches",
    "video_seed",
    "vocabulary",
]
