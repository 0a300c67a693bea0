"""What every scene promises: one referent or none, equal twins, no cue that gives the answer away, held-out pairs."""

from collections import Counter

import numpy as np
import pytest

from locater.errors import LocaterError
from locater.worlds.claims import is_absent, is_unique, judge
from locater.worlds.grammar import MOST_WORDS
from locater.worlds.scene_objects import EARLY_END, LATE_START
from locater.worlds.shapes import (
    HELD_OUT_PAIRS,
    KINDS,
    SPLITS,
    Scene,
    parts_of_seed,
    sample_scene,
    video_seed,
    vocabulary,
)
from locater.worlds.shapes.looks import COLOURS, SHAPES
from locater.worlds.shapes.scene import questions
from tests.support.worlds.well_asked import is_well_asked

TWIN_KINDS = ("motion", "early_event", "late_event")


def scenes(split: str, kind: str, count: int) -> list[Scene]:
    return [sample_scene(video_seed(split, kind, number)) for number in range(count)]


def test_a_seed_says_split_kind_and_number() -> None:
    for split in SPLITS:
        for kind in KINDS:
            assert parts_of_seed(video_seed(split, kind, 123)) == (split, kind, 123)
    for wrong in (("nowhere", "motion", 0), ("train", "colour", 0), ("train", "motion", -1), ("train", "size", 10**9)):
        with pytest.raises(LocaterError):
            video_seed(*wrong)
    with pytest.raises(LocaterError):
        parts_of_seed(-1)
    with pytest.raises(LocaterError):
        sample_scene(0, frame_count=4)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_scene(kind: str) -> None:
    for one, two in zip(scenes("train", kind, 5), scenes("train", kind, 5), strict=True):
        assert one.expression == two.expression and one.referent == two.referent and one.actors == two.actors
        np.testing.assert_array_equal(one.poses, two.poses)
        np.testing.assert_array_equal(one.backdrop.light, two.backdrop.light)
    assert len({scene.expression for scene in scenes("train", kind, 30)}) > 15


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_sentence_has_one_referent_or_none(kind: str, split: str) -> None:
    words = set(vocabulary())
    for scene in scenes(split, kind, 80):
        assert is_well_asked(scene)
        assert (scene.referent is None) == (kind == "absent")
        assert 3 <= len(scene.objects) <= 5
        said = scene.expression.split()
        assert set(said) <= words and len(said) <= MOST_WORDS and scene.expression == scene.expression.lower()


def test_vocabulary_is_sorted_and_all_of_it_is_used() -> None:
    words = vocabulary()
    assert words == sorted(set(words))
    used = {word for kind in KINDS for scene in scenes("train", kind, 500) for word in scene.expression.split()}
    assert len(used) > 0.97 * len(words)


@pytest.mark.parametrize("kind", TWIN_KINDS)
def test_one_twin_shares_all_looks(kind: str) -> None:
    for scene in scenes("train", kind, 200):
        assert scene.referent is not None and len(scene.twins) == 1
        claim = scene.description.claim
        assert claim is not None and claim.topic == kind
        referent, twin = scene.actors[scene.referent], scene.actors[scene.twins[0]]
        assert (referent.colour, referent.shape, referent.texture) == (twin.colour, twin.shape, twin.texture)
        if claim.name not in ("growing", "shrinking"):
            assert referent.radius == twin.radius
        if claim.name != "spinning":
            assert referent.angle == twin.angle
        looks_alone = judge(type(scene.description)(scene.description.looks), scene.objects)
        assert not is_unique(looks_alone, scene.actor_of_member.index(scene.referent))
        assert not is_absent(looks_alone)


@pytest.mark.parametrize("kind", ["early_event", "late_event"])
def test_away_from_the_event_twins_move_and_look_the_same(kind: str) -> None:
    for scene in scenes("train", kind, 150):
        assert scene.referent is not None
        time = np.linspace(0, 1, scene.frame_count)
        quiet = time < LATE_START if kind == "late_event" else time > EARLY_END
        one, two = scene.poses[scene.referent][quiet], scene.poses[scene.twins[0]][quiet]
        apart = one - two
        np.testing.assert_allclose(apart[:, :2], np.broadcast_to(apart[:1, :2], apart[:, :2].shape), atol=1e-5)
        np.testing.assert_allclose(apart[:, 2], 0, atol=1e-5)
        np.testing.assert_allclose(np.sin(apart[:, 3] / 2), 0, atol=1e-5)  # a whole turn is no difference
        np.testing.assert_allclose(apart[:, 4], 0, atol=1e-5)
        events = scene.actors[scene.referent].events
        assert [f"{event.when}_event" for event in events] == [kind]
        assert all(f"{event.when}_event" == kind for event in scene.actors[scene.twins[0]].events)


@pytest.mark.parametrize("kind", TWIN_KINDS)
def test_no_single_cue_tells_the_twins_apart(kind: str) -> None:
    """Referent left of, above or in front of its twin: about half, at any time at which nothing happens."""
    counts = Counter[str]()
    chosen = scenes("train", kind, 800)
    for scene in chosen:
        assert scene.referent is not None
        twin = scene.twins[0]
        frames = {"motion": (0, 16, 31), "early_event": (16, 31), "late_event": (0, 10)}[kind]
        counts["front"] += scene.referent > twin
        for frame in frames:
            counts[f"left {frame}"] += bool(scene.poses[scene.referent, frame, 0] < scene.poses[twin, frame, 0])
            counts[f"above {frame}"] += bool(scene.poses[scene.referent, frame, 1] < scene.poses[twin, frame, 1])
    shares = {name: count / len(chosen) for name, count in counts.items()}
    assert all(abs(share - 0.5) < 0.07 for share in shares.values()), shares


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("absent", "occlusion")])
def test_referents_are_drawn_at_any_depth_and_side(kind: str) -> None:
    chosen = scenes("train", kind, 500)
    depth = np.mean([scene.referent / (len(scene.actors) - 1) for scene in chosen if scene.referent is not None])
    places = np.array([scene.poses[scene.referent, 16, :2] for scene in chosen if scene.referent is not None])
    assert abs(depth - 0.5) < 0.06
    assert np.all(np.abs(places.mean(axis=0) - 0.5) < 0.06)


def test_held_out_pairs_appear_in_their_split_alone() -> None:
    assert len(HELD_OUT_PAIRS) == len(COLOURS) == len(SHAPES)
    for split in SPLITS:
        for kind in KINDS:
            for scene in scenes(split, kind, 60):
                looks = scene.description.looks
                if split == "heldout":
                    assert (looks.colour, looks.noun) in HELD_OUT_PAIRS
                    continue
                assert (looks.colour, looks.noun) not in HELD_OUT_PAIRS
                claim = scene.description.claim
                assert claim is None or (claim.anchor.colour, claim.anchor.noun) not in HELD_OUT_PAIRS
                assert not {(actor.colour, actor.shape) for actor in scene.actors} & HELD_OUT_PAIRS


def test_absent_sentences_are_about_what_is_almost_there() -> None:
    almost = 0
    chosen = scenes("train", "absent", 200)
    for scene in chosen:
        looks = scene.description.looks
        almost += (not looks.noun or looks.noun in scene.objects.nouns) and (
            not looks.colour or looks.colour in scene.objects.colours
        )
    assert almost > 0.6 * len(chosen)


@pytest.mark.parametrize("kind", KINDS)
def test_one_video_has_several_sentences(kind: str) -> None:
    for scene in scenes("test", kind, 10):
        found = questions(scene)
        assert len(found) >= 3 and len({question.referent for question in found}) >= 2
        for question in found:
            member = scene.actor_of_member.index(question.referent)
            assert is_unique(judge(question.description, scene.objects), member)
        if scene.referent is not None:
            assert (found[0].kind, found[0].expression, found[0].referent) == (kind, scene.expression, scene.referent)


def test_longer_videos_keep_the_promises() -> None:
    for kind in KINDS:
        scene = sample_scene(video_seed("test", kind, 3), frame_count=100, frames_per_second=25.0)
        assert is_well_asked(scene) and scene.poses.shape[1] == 100
