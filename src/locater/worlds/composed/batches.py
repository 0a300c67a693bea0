"""Batches of the composed world; their plans hold numbers of pictures, no pixels."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from locater.worlds.batches import Questions, WorldBatches
from locater.worlds.composed.draw.render import SceneBatch, render, slot_of
from locater.worlds.composed.draw.textures import Textures
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.extra_questions import questions_to


def composed_batches(sampler: SceneSampler) -> WorldBatches[Scene, SceneBatch]:
    """The batches of a sampler's scenes; a picture is decoded when it is first drawn, and stays on the device."""
    return WorldBatches("composed", sampler.lexicon, sampler.scene, partial(_packed, sampler), _Drawing(sampler.pack))


class _Drawing:
    """`render` with the pack's pictures on each device that was drawn on."""

    def __init__(self, pack: Pack) -> None:
        self._pack = pack
        self._textures: dict[torch.device, Textures] = {}

    def __getstate__(self) -> dict[str, object]:
        """Without the pictures: worker processes only plan."""
        return {**self.__dict__, "_textures": {}}

    def __call__(self, scenes: SceneBatch, indices: Tensor, size: int, device: torch.device) -> tuple[Tensor, Tensor]:
        if device not in self._textures:
            self._textures[device] = Textures(self._pack, device)
        return render(scenes, self._textures[device], indices, size)


def _packed(
    sampler: SceneSampler, scenes: Sequence[Scene], sentences: int
) -> tuple[SceneBatch, list[Questions], list[list[int]]]:
    asked = [questions_to(scene, sentences, sampler.lexicon, partial(sampler.nobody, scene)) for scene in scenes]
    questions = [
        [(text, -1 if actor is None else slot_of(scene, actor)) for text, actor in row]
        for scene, row in zip(scenes, asked, strict=True)
    ]
    return SceneBatch.of(scenes), questions, [[slot_of(s, actor) for actor in s.actor_of_member] for s in scenes]
