"""Questions that mean several things as one: whose masks they are, what they never say, and the words they use."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
import torch

from locater.config import TrainingConfig
from locater.text.plurals import plural
from locater.training.data.world import WorldData
from locater.worlds.batches import ClipSettings
from locater.worlds.claims import Description, Looks, judge
from locater.worlds.composed import (
    ComposedVideo,
    Pack,
    Scene,
    SceneSampler,
    Sources,
    Textures,
    compose,
    composed_batches,
)
from locater.worlds.composed.pack.roles import CARRIED, HELD, RIDDEN
from locater.worlds.composed.scene import photograph_pool
from locater.worlds.composed.scene.together import together
from locater.worlds.composed.scene.ways import WAYS
from locater.worlds.grammar import MOST_WORDS
from locater.worlds.seeds import video_seed
from tests.support.composed_sources import SMALL, Marks, make_backgrounds, make_marked

PERSON = (60, 16, 84, 80)
PICTURES: dict[str, Marks] = {
    "rider": [("person", PERSON), ("motorcycle", (46, 56, 104, 100))],
    "bikes": [("person", (50, 16, 74, 80)), ("motorcycle", (36, 56, 90, 100)), ("motorcycle", (96, 60, 124, 90))],
    "umbrella": [("person", PERSON), ("umbrella", (62, 20, 84, 40))],
    "onlooker": [("person", PERSON), ("umbrella", (62, 20, 84, 40)), ("person", (100, 16, 124, 80))],
    "two": [("person", (50, 16, 70, 80)), ("person", (74, 16, 94, 80)), ("horse", (40, 56, 108, 100))],
    "beside": [("person", PERSON), ("horse", (100, 40, 144, 90))],
    "dogs": [("dog", (42, 40, 74, 80)), ("dog", (86, 40, 118, 80))],
    "far": [("dog", (42, 40, 74, 80)), ("dog", (86, 40, 118, 80)), ("dog", (76, 10, 84, 18))],  # one too small
    "food": [("dog", (42, 40, 74, 80)), ("dog", (86, 40, 118, 80)), ("hot dog", (64, 90, 96, 110))],
}
# What each kind of photograph has as one, beside what is laid over it.
PAIRS = {
    "rider": ["motorcycle", "motorcyclist"],
    "bikes": ["motorcycle", "motorcyclist"],  # where one alone is in view
    "umbrella": ["person", "umbrella"],
    "onlooker": ["person", "umbrella"],
    "two": ["horse", "horse rider", "horse rider"],
}
THEIRS = {*RIDDEN, *HELD, *CARRIED}

Said = tuple[str, tuple[int, ...]]


@pytest.fixture(scope="module")
def sampler(tmp_path_factory: pytest.TempPathFactory) -> SceneSampler:
    folder = tmp_path_factory.mktemp("together")
    sources = Sources(coco=[make_marked(folder, PICTURES, 96)], backgrounds=[make_backgrounds(folder)])
    compose(sources, folder / "pack", (), replace(SMALL, photographs=90))
    return SceneSampler(Pack(folder / "pack"))


@cache
def scenes(sampler: SceneSampler) -> list[Scene]:
    numbers = [video_seed("train", kind, number) for kind in ("appearance", "absent") for number in range(120)]
    return [sampler.scene(seed) for seed in numbers]


def photographed(scene: Scene, sampler: SceneSampler) -> str:
    """Which of `PICTURES` the scene is composed on; "" where it is another."""
    kind = Path(sampler.pack.photographs[scene.view.photograph].source).name.split("_")[0]
    return kind if kind in PICTURES else ""


def said(sampler: SceneSampler, tries: int = 12) -> Iterator[tuple[Scene, Said]]:
    """Each scene with what is asked of several, at several draws."""
    for scene in scenes(sampler):
        for draw in range(tries):
            found = together(scene, Random(draw), sampler.lexicon)
            if found is not None:
                yield scene, found


def nouns_of(scene: Scene, actors: tuple[int, ...]) -> list[str]:
    return sorted(scene.actors[actor].noun for actor in actors)


def is_person(noun: str, broader: tuple[str, ...]) -> bool:
    return "person" in (noun, *broader)


def named(text: str, sampler: SceneSampler) -> set[str]:
    """What is ridden, held or carried and named in a sentence."""
    return {
        noun
        for noun in THEIRS & sampler.lexicon.nouns.keys()
        if any(f" {way} " in f" {text} " for way in sampler.lexicon.nouns[noun])
    }


def test_somebody_and_what_is_theirs_are_meant_as_one(sampler: SceneSampler) -> None:
    asked: dict[str, int] = dict.fromkeys(PICTURES, 0)
    for scene, (text, actors) in said(sampler):
        nouns = nouns_of(scene, actors)
        if THEIRS.isdisjoint(nouns) or len(set(nouns)) == 1:
            continue  # all of a noun, or none
        kind = photographed(scene, sampler)
        asked[kind] += 1
        assert nouns == PAIRS[kind], text
        assert named(text, sampler) == set(nouns) & THEIRS, text
        (thing,) = set(nouns) & THEIRS
        assert scene.objects.nouns.count(thing) == 1, text
        assert len(set(actors)) == len(actors) and max(actors) < scene.thing_count
        assert ("two" in text.split()) == (kind == "two"), text
        people = sum(map(is_person, scene.objects.nouns, scene.objects.broader))
        assert " and the " not in text or people == len(actors) - 1, text  # "the man and the umbrella": whose?
    assert all(asked[kind] > 20 for kind in ("rider", "umbrella", "onlooker", "two")) and not asked["beside"]


def test_what_is_not_there_makes_the_whole_sentence_mean_nothing(sampler: SceneSampler) -> None:
    with_people = without = 0
    for scene, (text, actors) in said(sampler):
        if actors:
            continue
        missing = named(text, sampler)
        assert len(missing) == 1 and missing <= WAYS.keys(), text
        verdict = judge(Description(Looks(noun=missing.pop())), scene.objects)
        assert (verdict == -1).all(), text
        has_person = any(map(is_person, scene.objects.nouns, scene.objects.broader))
        with_people += has_person
        without += not has_person
    assert with_people > 20 and not without


def test_all_of_a_noun_are_exactly_those_that_it_is_true_of(sampler: SceneSampler) -> None:
    many_dogs, counted = 0, set[str]()
    for scene, (text, actors) in said(sampler, 60):
        nouns = nouns_of(scene, actors)
        words = text.split()
        if not nouns or (len(set(nouns)) > 1 and set(nouns) & THEIRS):
            continue
        meant = [
            noun
            for noun, ways in sampler.lexicon.nouns.items()
            if any(plural(way) and text.endswith(plural(way)) for way in ways)
        ]
        # Some noun said has exactly these, and leaves no doubt about anything else.
        verdicts = [judge(Description(Looks(noun=noun)), scene.objects) for noun in meant]
        right = [scene.actor_of_member.index(actor) for actor in actors]
        assert any(
            (verdict != 0).all() and [int(at) for at in (verdict == 1).nonzero()[0]] == right for verdict in verdicts
        ), text
        assert 2 <= len(actors) <= 4
        for number, word in ((2, "two"), (2, "both"), (3, "three"), (4, "four")):
            assert word not in words or len(actors) == number, text
        counted |= {"two", "both", "all"} & set(words)
        many_dogs += "dogs" in words
    assert many_dogs > 5 and counted == {"two", "both", "all"}


def test_what_is_meant_with_others_is_mostly_seen(sampler: SceneSampler) -> None:
    is_pair, hidden = set[bool](), 0
    for scene, (text, actors) in said(sampler, 60):
        seen = scene.objects.visibility.mean(axis=1)
        assert all(seen[scene.actor_of_member.index(actor)] >= 0.5 for actor in actors), text
        is_pair.add(len(set(nouns_of(scene, actors))) > 1)
        hidden += bool((seen < 0.5).any())
    assert is_pair == {True, False} and hidden > 10  # others are hidden


def test_where_one_more_is_vague_or_doubtful_not_all_of_them_are_asked_for(sampler: SceneSampler) -> None:
    seen, clear = dict.fromkeys(("far", "food"), 0), 0
    for scene in scenes(sampler):
        nouns, vague = scene.objects.nouns, scene.objects.is_vague
        if nouns.count("dog") < 2:
            continue
        asked = [together(scene, Random(draw), sampler.lexicon) for draw in range(60)]
        are_asked = any(found and found[1] and "dogs" in found[0].split() for found in asked)
        is_far = ("dog", True) in zip(nouns, vague, strict=True)
        if is_far or "hot dog" in nouns:
            seen["far" if is_far else "food"] += 1
            assert not are_asked
        else:
            clear += are_asked
    assert all(seen.values()) and clear > 3


def test_bare_nouns_still_mean_one_thing_each(sampler: SceneSampler) -> None:
    batches = composed_batches(sampler)
    plan = batches.clips(range(60), ClipSettings(clip_frames=1, global_frames=0, sentences=3))
    assert plan.referents.shape[2] > 1
    assert (plan.referents[:, :2, 1:] == -1).all()  # the first two
    assert (plan.referents[:, 2, 1:] != -1).any()
    one = batches.clips(range(60), ClipSettings(clip_frames=1, global_frames=0))
    assert one.referents.shape == (60, 1, 1) and one.expressions == plan.expressions[::3]
    assert torch.equal(one.referents[:, 0, 0], plan.referents[:, 0, 0])


def test_a_batch_draws_the_union_of_what_is_meant(sampler: SceneSampler) -> None:
    batches, textures = composed_batches(sampler), Textures(sampler.pack)
    settings = ClipSettings(clip_frames=2, global_frames=1, sentences=2, kind_weights={"appearance": 1.0})
    numbers = range(160)
    plan = batches.clips(numbers, settings)
    batch = batches.draw(plan, 48)
    several = none = 0
    for row, number in enumerate(numbers):
        scene = sampler.scene(video_seed("train", "appearance", number))
        found = together(scene, Random(scene.seed + 3), sampler.lexicon)
        if found is None:
            continue
        text, actors = found
        assert batch.expressions[2 * row + 1] == text
        video = ComposedVideo(scene, textures, 48)
        of_each = [video.masks_of(actor) for actor in actors]
        several += len(actors) > 1
        none += not actors
        for time in range(2):
            frame = int(plan.indices[row, time])
            union = torch.zeros(48, 48, dtype=torch.bool)
            for masks in of_each:
                assert masks[frame].any()
                union |= torch.as_tensor(masks[frame])
            assert torch.equal(batch.masks[2 * row + 1, time] > 0, union), text
    assert several > 5 and none > 2


def test_questions_are_the_same_for_the_same_seed(sampler: SceneSampler) -> None:
    settings = ClipSettings(clip_frames=1, global_frames=0, sentences=3)
    plan, again = (composed_batches(SceneSampler(sampler.pack)).clips(range(24), settings) for _ in range(2))
    assert plan.expressions == again.expressions and torch.equal(plan.referents, again.referents)
    part = composed_batches(sampler).clips([7, 3], settings)  # whatever else is in the batch
    assert part.expressions == (*plan.expressions[21:24], *plan.expressions[9:12])
    for place, row in enumerate((7, 3)):
        width = part.referents.shape[2]
        assert torch.equal(part.referents[place], plan.referents[row, :, :width])
        assert (plan.referents[row, :, width:] == -1).all()


def test_every_word_is_one_that_the_world_says_it_knows(sampler: SceneSampler) -> None:
    words = set(WorldData(composed_batches(sampler), 32, TrainingConfig(), 8).words())
    sentences = {text for _, (text, _) in said(sampler, 60)}
    assert len(sentences) > 300
    for text in sentences:
        assert set(text.split()) <= words and text == text.lower() and len(text.split()) <= MOST_WORDS, text
    for ways in sampler.lexicon.nouns.values():
        assert all(set(plural(way).split()) <= words for way in ways)
    assert {"people", "men", "umbrellas", "motorbikes", "carrying", "riders"} <= words


def test_scenes_are_often_about_what_somebody_has(sampler: SceneSampler, monkeypatch: pytest.MonkeyPatch) -> None:
    def share(of_pairs: float) -> float:
        """How many of the scenes about a photograph's own thing are about what is ridden, held or carried."""
        monkeypatch.setattr(photograph_pool, "PAIR_SHARE", of_pairs)
        found = [sampler.scene(video_seed("train", "appearance", number)) for number in range(100)]
        own = [scene for scene in found if scene.referent is not None and scene.referent < scene.thing_count]
        return sum(scene.actors[scene.referent or 0].noun in THEIRS for scene in own) / len(own)

    usual = photograph_pool.PAIR_SHARE
    assert share(0.0) + 0.1 < share(usual) < share(1.0)
