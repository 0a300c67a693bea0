"""Batches of the composed world; their plans hold numbers of pictures, no pixels."""

from collections.abc import Sequence
from functools import lru_cache, partial
from random import Random

import torch
from torch import Tensor

from locater.worlds.batches import Questions, WorldBatches
from locater.worlds.composed.draw.render import SceneBatch, render, slot_of
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.composed.scene.together import together
from locater.worlds.extra_questions import questions_to


def composed_batches(sampler: SceneSampler) -> WorldBatches[Scene, SceneBatch]:
    """The batches of a sampler's scenes; a picture is decoded when it is first drawn, and stays on the device."""
    drawn = partial(_drawn, sampler.pack)
    return WorldBatches("composed", sampler.lexicon, sampler.scene, partial(_packed, sampler), drawn)


def _drawn(pack: Pack, scenes: SceneBatch, indices: Tensor, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    return render(scenes, _textures(pack, device), indices, size)


@lru_cache(maxsize=8)  # a mixture draws from each of its packs in every batch
def _textures(pack: Pack, device: torch.device) -> Textures:
    """A pack's pictures, until the process ends: a recipe's stages draw from one pack, and decoding takes minutes."""
    return Textures(pack, device)


def _packed(
    sampler: SceneSampler, scenes: Sequence[Scene], sentences: int
) -> tuple[SceneBatch, list[Questions], list[list[int]]]:
    questions = [_asked(sampler, scene, sentences) for scene in scenes]
    return SceneBatch.of(scenes), questions, [[slot_of(s, actor) for actor in s.actor_of_member] for s in scenes]


def _asked(sampler: SceneSampler, scene: Scene, sentences: int) -> Questions:
    """Questions to a scene; the last of several may mean more than one of its actors."""
    asked = questions_to(scene, sentences, sampler.lexicon, partial(sampler.nobody, scene))
    questions: Questions = [(text, () if actor is None else (slot_of(scene, actor),)) for text, actor in asked]
    of_several = together(scene, Random(scene.seed + 3), sampler.lexicon) if sentences > 1 else None
    if of_several is not None:
        text, actors = of_several
        questions[-1] = (text, tuple(slot_of(scene, actor) for actor in actors))
    return questions
