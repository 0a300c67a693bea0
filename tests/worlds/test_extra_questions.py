"""Further questions to one scene."""

from dataclasses import replace
from random import Random

import torch

from locater.worlds.batches import ClipSettings
from locater.worlds.claims import is_unique, judge
from locater.worlds.extra_questions import _others, questions_to
from locater.worlds.seeds import KINDS, video_seed
from locater.worlds.shapes import LEXICON, shapes_batches
from locater.worlds.shapes.scene import sample_scene


def test_further_questions_mean_other_objects_and_each_exactly_one() -> None:
    to_twins = 0
    for kind in KINDS:
        for number in range(12):
            scene = sample_scene(video_seed("train", kind, number))
            for description, member in _others(scene, Random(0)):
                assert is_unique(judge(description, scene.objects), member)
            asked = questions_to(scene, 3, LEXICON)
            assert asked[0] == (scene.expression, scene.referent) and len(asked) == 3
            different = [actor for _, actor in asked if actor != scene.referent]
            assert len(set(different)) == len(different)
            to_twins += any(actor in scene.twins for actor in different)
            assert asked == questions_to(scene, 3, LEXICON)
    assert to_twins > 20  # where a twin does something of its own, the words alone decide


def test_a_batch_holds_every_questions_own_mask() -> None:
    batches, settings = shapes_batches(), ClipSettings(clip_frames=2, global_frames=0, strides=(0,))
    one, three = (batches.draw(batches.clips(range(6), replace(settings, sentences=count)), 48) for count in (1, 3))
    assert three.masks.shape == (18, 2, 48, 48) and len(three.expressions) == 18
    assert three.expressions[::3] == one.expressions
    assert torch.equal(three.masks[::3], one.masks) and torch.equal(three.frames, one.frames)
    own = three.masks[::3].repeat_interleave(3, dim=0)
    others = [row for row in range(18) if not torch.equal(three.masks[row], own[row])]  # the rest: own in other words
    assert len(others) > 6 and not (three.masks * own)[others].any()  # visible masks are disjoint


def test_where_nothing_else_can_be_meant_nobody_is() -> None:
    scene = next(
        scene
        for scene in (sample_scene(video_seed("train", "appearance", number)) for number in range(400))
        if not list(_others(scene, Random(0)))
    )
    base = scene.description
    nobody = replace(base, looks=replace(base.looks, noun="star", colour="pink"))
    asked = [questions_to(replace(scene, seed=scene.seed + other), 2, LEXICON, lambda _: nobody) for other in range(40)]
    seconds = [second for _, second in asked]
    assert {actor for _, actor in seconds} == {scene.referent, None}
    assert all("pink" in text for text, actor in seconds if actor is None)
    assert questions_to(scene, 2, LEXICON)[1][1] == scene.referent  # in other words, where nobody cannot be said
