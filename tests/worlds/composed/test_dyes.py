"""Dyed things are called by what their pixels show, and no word is a sign that nothing is meant."""

from collections import Counter

import numpy as np
import torch

from locater.worlds.composed import ComposedWorld, Scene, SceneSampler
from locater.worlds.composed.pack.colours import COLOURS, name_colour
from locater.worlds.composed.pack.nouns import is_person
from locater.worlds.composed.scene.dyes import DYE_WORDS, DYES, dyed, upper_body
from locater.worlds.seeds import video_seed
from tests.support.composed_sources import small_pack


def scenes(kind: str, count: int) -> list[Scene]:
    sampler = SceneSampler(small_pack())
    return [sampler.scene(video_seed("train", kind, number)) for number in range(count)]


def test_light_and_shade_stay_and_so_does_what_is_not_covered() -> None:
    pixels = torch.linspace(0.1, 0.9, 40).expand(1, 3, 5, 40).clone()
    cover = torch.zeros(1, 1, 5, 40)
    cover[:, :, :3] = 1
    orange = next(dye for dye in DYES if dye.word == "orange")
    result = dyed(pixels, cover, torch.tensor([orange.rgb]))
    assert torch.equal(result[:, :, 3:], pixels[:, :, 3:])
    luma = result[0, :, 0].mean(dim=0)
    assert bool((luma.diff() > 0).all()) and result.min() >= 0 and result.max() <= 1


def test_only_what_a_person_wears_is_dyed() -> None:
    cover = torch.zeros(1, 1, 60, 8)
    cover[:, :, 5:55] = 1
    rows = upper_body(cover)[0, 0, :, 0]
    assert rows[:14].max() == 0 and rows[20:32].min() == 1 and rows[36:].max() == 0


def test_what_is_dyed_is_called_by_the_colour_that_its_pixels_have() -> None:
    world = ComposedWorld(small_pack(), "train", size=96)
    said, people = [], 0
    for scene in scenes("appearance", 120):
        video = world.video(scene.seed)
        frame = next(iter(video.frames())).pixels
        for member, place in enumerate(scene.actor_of_member):
            actor, inside = scene.actors[place], video.masks_of(place)[0]
            if actor.dye < 0 or inside.sum() < 60:
                continue
            assert scene.objects.colours[member] == DYES[actor.dye].word
            people += is_person(actor.noun)
            word, maybe = name_colour(frame, inside, actor.noun)
            said.append(actor.colour in (word, *maybe))
    assert len(said) > 25 and people > 2
    assert np.mean(said) > 0.9, "light, grain and a thing's neighbours spoil few"


def test_a_dyed_thing_is_no_longer_called_by_its_own_colour() -> None:
    for scene in scenes("appearance", 80):
        for member, place in enumerate(scene.actor_of_member):
            actor = scene.actors[place]
            if actor.dye >= 0 and not is_person(actor.noun):
                assert scene.objects.doubtful[member] & set(COLOURS) == DYES[actor.dye].doubtful


def test_rare_colours_are_said_as_often_and_of_what_is_there_as_of_what_is_not() -> None:
    there, missing = (
        Counter(scene.description.looks.colour for scene in scenes(kind, 1500)) for kind in ("appearance", "absent")
    )
    rare = {"orange", "pink", "purple", "cyan"}  # no picture of the pack has them
    ratio_of_rare, ratio_of_rest = (
        sum(there[word] for word in words) / sum(missing[word] for word in words)
        for words in (rare, COLOURS.keys() - rare)
    )
    assert rare <= DYE_WORDS and min(there[word] for word in rare) > 3
    assert 0.4 < ratio_of_rare / ratio_of_rest < 2.5


def test_a_noun_is_missing_about_as_often_as_it_is_there() -> None:
    there, missing = (
        Counter(scene.description.looks.noun for scene in scenes(kind, 800)) for kind in ("appearance", "absent")
    )
    for noun, count in missing.items():
        assert there[noun] > 0.15 * count or count < 15, (noun, there[noun], count)
