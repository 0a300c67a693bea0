"""What every composed scene promises: one referent or none, true masks, equal twins, splits that stay apart."""

import pickle
import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch

from locater.config import TrainingConfig
from locater.errors import LocaterError
from locater.records import Mask
from locater.training.data.sources import open_data
from locater.training.data.world import WorldData
from locater.worlds.batches import ClipSettings
from locater.worlds.claims import Description, Looks, is_absent, judge
from locater.worlds.composed import ComposedVideo, ComposedWorld, Scene, SceneSampler, Textures, composed_batches
from locater.worlds.composed.pack.nouns import Nouns
from locater.worlds.composed.scene.cutout_pool import CutoutPool
from locater.worlds.composed.scene.distractor_phrases import distractor_phrases_for
from locater.worlds.grammar import CLAIMS, EVENTS, MOST_WORDS, SIZES, TIMES, Pattern, say
from locater.worlds.seeds import KINDS, video_seed
from tests.support.composed_sources import small_pack
from tests.support.worlds.well_asked import is_well_asked

SIZE = 48


def scenes(kind: str, count: int, split: str = "train") -> list[Scene]:
    sampler = SceneSampler(small_pack())
    return [sampler.scene(video_seed(split, kind, number)) for number in range(count)]


def videos(kind: str, count: int) -> Iterator[ComposedVideo]:
    world = ComposedWorld(small_pack(), "train", size=64)
    for number in range(count):
        yield world.video(video_seed("train", kind, number))


@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_has_one_referent_or_none(kind: str) -> None:
    sampler = SceneSampler(small_pack())
    words = set(sampler.lexicon.vocabulary())
    sentences = set()
    for scene in scenes(kind, 40):
        assert is_well_asked(scene)
        assert (scene.referent is None) == (kind == "absent")
        said = scene.expression.split()
        assert set(said) <= words and len(said) <= MOST_WORDS and scene.expression == scene.expression.lower()
        cutouts = [actor for actor in scene.actors[scene.thing_count :] if not actor.is_occluder]
        assert len(cutouts) <= 5 and len(scene.actor_of_member) >= 1
        sentences.add(scene.expression)
    assert len(sentences) > 15


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_scene(kind: str) -> None:
    for one, two in zip(scenes(kind, 3), scenes(kind, 3), strict=True):
        assert (one.expression, one.referent, one.actors, one.view) == (
            two.expression,
            two.referent,
            two.actors,
            two.view,
        )
        np.testing.assert_array_equal(one.poses, two.poses)
        np.testing.assert_array_equal(one.compositing.cutouts, two.compositing.cutouts)


def test_a_video_looks_the_same_in_any_batch() -> None:
    several, few = (composed_batches(SceneSampler(small_pack())) for _ in range(2))
    settings = ClipSettings(clip_frames=2, global_frames=2)
    whole = several.draw(several.clips(range(6), settings), SIZE)
    part = few.draw(few.clips([4, 2], settings), SIZE)
    for row, other in ((4, 0), (2, 1)):
        assert whole.expressions[row] == part.expressions[other]
        assert torch.equal(whole.masks[row], part.masks[other])
        torch.testing.assert_close(whole.frames[row], part.frames[other], atol=1e-5, rtol=0)


def test_twins_are_the_same_cut_out_and_only_the_claim_tells_them_apart() -> None:
    mirrored = 0
    for kind in ("motion", "early_event", "late_event"):
        for scene in scenes(kind, 30):
            if scene.referent is None or scene.referent < scene.thing_count:
                continue
            assert len(scene.twins) == 1
            referent, twin = scene.actors[scene.referent], scene.actors[scene.twins[0]]
            assert referent.picture == twin.picture
            compositing = scene.compositing.cutouts
            first, second = scene.referent - scene.thing_count, scene.twins[0] - scene.thing_count
            np.testing.assert_array_equal(compositing[first], compositing[second])
            mirrored += referent.is_mirrored != twin.is_mirrored
    assert mirrored > 10


def test_positions_and_directions_hold_for_the_masks() -> None:
    checked = 0
    for kind in ("position", "motion"):
        for video in videos(kind, 35):
            scene = video.scene
            claim = scene.description.claim
            assert claim is not None and scene.referent is not None
            masks = video.masks_of(scene.referent)
            xs, ys = zip(*(centroid(masks[frame]) for frame in (0, 31)), strict=True)
            if claim.name in ("left", "right"):
                checked += 1
                assert all((x < 0.5) == (claim.name == "left") for x in xs), scene.expression
            elif claim.name in ("top", "bottom"):
                checked += 1
                assert all((y < 0.5) == (claim.name == "top") for y in ys), scene.expression
            elif claim.name in ("moves_left", "moves_right"):
                checked += 1
                moved = (xs[1] - xs[0]) - (scene.camera[31, 0] - scene.camera[0, 0])
                assert (moved < 0) == (claim.name == "moves_left"), scene.expression
    assert checked > 8


def test_masks_are_disjoint_agree_with_the_pixels_and_absent_ones_are_empty() -> None:
    batches = composed_batches(SceneSampler(small_pack()))
    weights = {kind: 1.0 for kind in KINDS if kind not in ("early_event", "late_event")}
    plan = batches.clips(range(40), ClipSettings(clip_frames=2, global_frames=1, kind_weights=weights))
    batch = batches.draw(plan, 64)
    is_absent = plan.referents.flatten() < 0
    assert is_absent.any()
    assert batch.masks[is_absent].sum() == 0
    assert (batch.masks[~is_absent].sum(dim=(1, 2, 3)) > 0).all()
    _, masks = batches.render(plan.scenes, plan.indices, 64, torch.device("cpu"))
    assert masks.sum(dim=2).max() == 1
    green = [
        scene
        for scene in scenes("appearance", 60)
        if scene.referent is not None and scene.description.looks.colour == "green"
    ]
    assert green
    textures = Textures(small_pack())
    for scene in green:
        video = ComposedVideo(scene, textures, 64)
        assert scene.referent is not None
        frame = next(iter(video.frames(8))).pixels.astype(int)
        inside = video.masks_of(scene.referent)[8]
        red, greenness, blue = frame[inside].mean(axis=0)
        assert greenness > red + 15 and greenness > blue + 15


def test_held_out_things_are_never_seen_in_training() -> None:
    pack = small_pack()
    for split in ("train", "validation", "test"):
        for kind in KINDS:
            for scene in scenes(kind, 6, split):
                assert "zebra" not in scene.expression
                assert pack.photographs[scene.view.photograph].split == split
                for actor in scene.actors[scene.thing_count :]:
                    assert actor.is_occluder or pack.cutouts[actor.picture].split == split
    for scene in scenes("position", 8, "heldout"):
        assert scene.referent is not None and scene.actors[scene.referent].noun == "zebra"


def test_a_photograph_s_own_things_are_asked_about_too() -> None:
    found = 0
    for kind in ("appearance", "position"):
        for video in videos(kind, 30):
            scene = video.scene
            if scene.referent is None or scene.referent >= scene.thing_count:
                continue
            found += 1
            mask = video.masks_of(scene.referent)[16]
            assert mask.mean() > 0.003
            x, y = centroid(mask)
            assert (
                abs(x - scene.poses[scene.referent, 16, 0]) < 0.15
                and abs(y - scene.poses[scene.referent, 16, 1]) < 0.15
            )
    assert found > 5


def test_further_questions_to_a_lonely_thing_are_about_nothing_in_the_picture() -> None:
    sampler = SceneSampler(small_pack())
    found = 0
    for scene in scenes("appearance", 60):
        description = sampler.nobody(scene, Random(1))
        if description is not None:
            found += 1
            assert is_absent(judge(description, scene.objects))
    assert found > 30


def test_what_a_thing_is_taken_for_easily_is_asked_for_where_it_is_not() -> None:
    nouns = Nouns({"dog": ("animal",), "beagle": ("dog", "animal"), "cat": ("animal",), "cup": (), "bus": ("vehicle",)})
    assert set(nouns.akin("cat")) == {"dog", "beagle"} and not nouns.akin("cup") and not nouns.akin("bus")
    sampler = SceneSampler(small_pack())
    asked = [scene for scene in scenes("absent", 80) if scene.description.claim is None]
    kin = sum(
        scene.description.looks.noun in sampler.pack.nouns.akin(noun) for scene in asked for noun in scene.objects.nouns
    )
    assert kin > 5


def test_what_sprites_alone_show_is_never_named_as_near_kin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a network learns from every elephant that there are no rhinoceroses."""
    pack = small_pack()
    dogs = [entry.noun == "dog" for entry in pack.cutouts]
    drawn = replace(next(entry for entry in pack.cutouts if entry.is_sprite), noun="cow", broader=("animal",))
    whole = [*pack.cutouts, replace(drawn, split="train")]
    monkeypatch.setattr(pack, "cutouts", whole)
    monkeypatch.setattr(pack, "nouns", Nouns({**pack.nouns.broader, "cow": ("animal",)}))
    assert any(dogs) and "cow" in pack.nouns.akin("dog")
    assert "cow" not in CutoutPool(pack, "train").names_akin(Random(0), "dog", 500)
    monkeypatch.setattr(pack, "cutouts", [*whole, replace(drawn, split="train", is_sprite=False)])
    assert "cow" in CutoutPool(pack, "train").names_akin(Random(0), "dog", 500)
    kinds = replace(drawn, split="train", noun="highland", broader=("cow", "animal"), is_sprite=False)
    monkeypatch.setattr(pack, "cutouts", [*whole, kinds])  # who shows a breed shows its class
    monkeypatch.setattr(pack, "nouns", Nouns({**pack.nouns.broader, "highland": ("cow", "animal")}))
    assert {"cow", "highland"} <= set(CutoutPool(pack, "train").names_akin(Random(0), "dog", 500))


def test_asides_follow_nouns_and_use_no_word_that_decides() -> None:
    deciding = {word for phrases in CLAIMS.values() for text in phrases.before + phrases.after for word in text.split()}
    deciding |= {word for verbs in EVENTS.values() for verb in verbs for form in verb for word in form.split()}
    deciding |= {word for texts in (*SIZES.values(), *TIMES.values()) for text in texts for word in text.split()}
    harmless = {"the", "a", "in", "of", "on", "at", "to", "is", "that", "which", "not", "it", "still", "around", "down"}
    harmless |= {"picture", "corner", "standing", "along", "by", "over", "for", "away", "up", "and"}
    harmless |= {"jumping"}  # decides only with the time at which it happens
    lexicon = SceneSampler(small_pack()).lexicon
    slots = [slot for patterns in lexicon.distractor_phrases.values() for pattern in patterns for slot in pattern]
    said = {word for slot in (*slots, lexicon.idle_adjectives) for text in slot for word in text.split()}
    assert len(said) > 500 and not said & (deciding - harmless)
    assert re.fullmatch(one_of(distractor_phrases_for("woman", ())), "in a white blouse and a pink skirt")
    assert not re.fullmatch(one_of(distractor_phrases_for("cup", ())), "in a white blouse and a pink skirt")
    assert (
        distractor_phrases_for("dog", ("animal",))
        != distractor_phrases_for("bus", ("vehicle",))
        != distractor_phrases_for("cup", ())
    )


def test_sentences_without_a_claim_add_up_to_two_asides_and_adjectives() -> None:
    lexicon = SceneSampler(small_pack()).lexicon
    distractor_phrases, idle = (
        {noun: one_of(lexicon.distractor_phrases[noun]) for noun in lexicon.distractor_phrases},
        "|".join(lexicon.idle_adjectives),
    )
    colours = "|".join(said for colour in lexicon.colours.values() for said in colour)
    told = [scene for scene in scenes("appearance", 200) if scene.description.looks.noun in distractor_phrases]
    with_asides = 0
    for scene in told:
        looks = scene.description.looks
        nouns, aside = "|".join(lexicon.nouns[looks.noun]), distractor_phrases[looks.noun]
        worn = "|".join(text.format(colour=f"({colours})") for text in lexicon.clothed.get(looks.noun, ("",)))
        before, after = ("", rf"( ({worn}))?") if looks.noun in lexicon.clothed else (rf"(({colours}) )?", "")
        shape = rf"((the|an?) )?(({idle}) ){{0,2}}{before}({nouns}){after}(?P<distractor_phrases>( ({aside})){{0,2}})"
        found = re.fullmatch(shape, scene.expression)
        assert found, scene.expression
        with_asides += bool(found["distractor_phrases"])
    assert len(told) > 150 and 0.35 < with_asides / len(told) < 0.65


@pytest.mark.parametrize(("noun", "kind"), [("person", ""), ("dog", "animal"), ("bus", "vehicle"), ("cup", "")])
def test_a_noun_has_thousands_of_asides_and_no_sentence_is_too_long(noun: str, kind: str) -> None:
    long = "very long name of some rare old breed"
    lexicon = SceneSampler(small_pack()).lexicon
    lexicon = replace(lexicon, nouns={noun: (long,)}, distractor_phrases={noun: distractor_phrases_for(noun, (kind,))})
    words, rng = set(lexicon.vocabulary()), Random(0)
    said = [say(Description(Looks(noun)), rng, lexicon) for _ in range(6000)]
    assert all(len(sentence.split()) <= MOST_WORDS and set(sentence.split()) <= words for sentence in said)
    assert max(len(sentence.split()) for sentence in said) == MOST_WORDS
    assert len({sentence.split(long)[1] for sentence in said}) > 2000


def test_what_passes_behind_the_wall_is_hidden_and_comes_back() -> None:
    for video in videos("occlusion", 6):
        assert video.scene.referent is not None
        areas = [mask.sum() for mask in video.masks_of(video.scene.referent).values()]
        assert min(areas) <= 0.05 * max(areas) and areas[0] > 0 and areas[-1] > 0


def test_the_world_is_a_dataset() -> None:
    world = ComposedWorld(small_pack(), "test", count=9, size=32)
    infos = world.samples()
    assert [info.kind for info in infos] == list(KINDS) and world.name == "composed-test"
    sample = world.load(infos[4])
    frames = list(sample.frames.frames(2, 10))
    assert [frame.index for frame in frames] == [2, 12, 22] and frames[0].pixels.shape == (32, 32, 3)
    assert sample.masks[0].shape == (32, 32) and len(sample.masks) == 32
    assert not any(mask.any() for mask in world.load(infos[-1]).masks.values())
    with pytest.raises(LocaterError, match="at least one kind"):
        ComposedWorld(small_pack(), kinds=())


def test_training_takes_it_by_name() -> None:
    config = TrainingConfig(clip_frames=2, global_frames=2)
    data = open_data(f"composed:{small_pack().folder}", 32, config, interval=8)
    assert isinstance(data, WorldData) and {"dog", "beagle", "left", "jumps"} <= set(data.words())
    plan = pickle.loads(pickle.dumps(data)).plan(range(3), 0.0)
    assert len(pickle.dumps(plan)) < 60_000
    batch = data.draw(plan, torch.device("cpu"))
    assert batch.frames.shape == (3, 2, 3, 32, 32) and batch.global_frames.shape == (3, 2, 3, 32, 32)
    assert batch.frames.min() >= 0 and batch.frames.max() <= 1 and ((batch.masks == 0) | (batch.masks == 1)).all()
    whole = data.draw(data.validation("late_event", range(2)), torch.device("cpu"))
    assert whole.frames.shape[1] == 32 and whole.global_frames.shape[1] == 4
    with pytest.raises(LocaterError, match="kind 'colour'"):
        open_data(f"composed:{small_pack().folder}", 32, TrainingConfig(kind_weights={"colour": 1.0}), 8)
    with pytest.raises(LocaterError, match="is no pack"):
        open_data("composed:/nowhere", 32, config, 8)


def one_of(patterns: tuple[Pattern, ...]) -> str:
    """A regular expression of every aside that the patterns give."""
    return "|".join(" ".join(f"({'|'.join(map(re.escape, slot))})" for slot in pattern) for pattern in patterns)


def centroid(mask: Mask) -> tuple[float, float]:
    ys, xs = np.nonzero(mask)
    assert len(xs)
    return float(xs.mean() + 0.5) / mask.shape[1], float(ys.mean() + 0.5) / mask.shape[0]


def test_sentences_on_what_is_absent_name_near_kin_as_often_as_asked() -> None:
    """Kin share a broader noun with something that is there, as a cat does with a dog; they must not be there."""
    pack = small_pack()
    broader = pack.nouns.broader

    def kin_named(share: float) -> float:
        sampler = SceneSampler(pack, share)
        named = []
        for number in range(60):
            scene = sampler.scene(video_seed("train", "absent", number))
            assert is_well_asked(scene) and scene.referent is None
            looks = scene.description.looks
            if looks.noun and not any(noun == looks.noun for noun in scene.objects.nouns):
                near = {other for noun in scene.objects.nouns for other in broader.get(noun, ())}
                named.append(bool(near & set(broader[looks.noun])))
        assert len(named) > 15
        return sum(named) / len(named)

    never, always = kin_named(0.0), kin_named(1.0)
    assert always > 0.85 > never + 0.2
