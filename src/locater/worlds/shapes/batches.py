"""Batches of the shapes world."""

from collections.abc import Sequence
from dataclasses import fields, replace

import torch
from torch import Tensor

from locater.worlds.batches import Questions, WorldBatches
from locater.worlds.extra_questions import questions_to
from locater.worlds.shapes.looks import LEXICON
from locater.worlds.shapes.render import SceneBatch, render
from locater.worlds.shapes.scene import Scene, sample_scene


def shapes_batches() -> WorldBatches[Scene, SceneBatch]:
    """The batches of the shapes world."""
    return WorldBatches("shapes", LEXICON, sample_scene, _packed, _drawn)


def _packed(scenes: Sequence[Scene], sentences: int) -> tuple[SceneBatch, list[Questions], list[list[int]]]:
    asked = [questions_to(scene, sentences, LEXICON) for scene in scenes]
    questions: list[Questions] = [[(text, () if actor is None else (actor,)) for text, actor in row] for row in asked]
    return SceneBatch.of(scenes), questions, [list(scene.actor_of_member) for scene in scenes]


def _drawn(scenes: SceneBatch, indices: Tensor, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    # The shapes' names stay: they steer the drawing from the CPU.
    moved = {
        field.name: getattr(scenes, field.name).to(device, non_blocking=True)
        for field in fields(scenes)
        if field.name != "shape_ids"
    }
    return render(replace(scenes, **moved), indices, size)
