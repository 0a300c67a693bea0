"""Sentences over objects that no renderer has drawn: what the composed world will hand in."""

from dataclasses import replace
from random import Random

import numpy as np

from locater.worlds.claims import Claim, Description, Looks, is_absent, is_unique, judge
from locater.worlds.grammar import Lexicon, say
from locater.worlds.scene_objects import Event, SceneObjects
from locater.worlds.sentences import Alternatives, absent_description, true_descriptions, unique_description

FRAMES = 16


def make_scene_objects(
    nouns: tuple[str, ...],
    starts: list[tuple[float, float]],
    ends: list[tuple[float, float]] | None = None,
    events: tuple[tuple[Event, ...], ...] | None = None,
    radii: tuple[float, ...] | None = None,
) -> SceneObjects:
    time = np.linspace(0, 1, FRAMES)[None, :, None]
    begin, end = np.array(starts)[:, None], np.array(ends or starts)[:, None]
    count = len(nouns)
    sizes = np.array(radii or (0.1,) * count)[:, None] * np.ones((1, FRAMES))
    return SceneObjects(
        nouns=nouns,
        colours=("",) * count,
        textures=("",) * count,
        centres=begin + (end - begin) * time,
        radii=sizes,
        angles=np.zeros((count, FRAMES)),
        covered=np.zeros((count, FRAMES)),
        visibility=np.ones((count, FRAMES)),
        events=events or ((),) * count,
        camera=np.zeros((FRAMES, 2)),
    )


def verdict(objects: SceneObjects, noun: str, claim: Claim) -> list[int]:
    return [int(value) for value in judge(Description(Looks(noun=noun), claim), objects)]


def test_position_has_a_margin() -> None:
    objects = make_scene_objects(("dog", "dog", "dog", "cat"), [(0.2, 0.5), (0.8, 0.5), (0.45, 0.5), (0.2, 0.2)])
    assert verdict(objects, "dog", Claim("position", "left")) == [1, -1, 0, -1]
    assert verdict(objects, "", Claim("position", "top_left"))[3] == 1


def test_of_two_the_left_one_is_on_the_left_wherever_both_are() -> None:
    def sides(noun: str, *places: float) -> dict[str, list[int]]:
        nouns = ("dog",) * len(places) + ("cat",)
        objects = make_scene_objects(nouns, [*((x, 0.5) for x in places), (0.3, 0.2)])
        objects = replace(objects, sides_are_relative=True)
        return {side: verdict(objects, noun, Claim("position", side)) for side in ("left", "right")}

    both_on_the_right = {"left": [1, -1, -1], "right": [-1, 1, -1]}
    assert sides("dog", 0.65, 0.9) == sides("dog", 0.2, 0.8) == both_on_the_right
    assert sides("dog", 0.65, 0.7) == {"left": [0, 0, -1], "right": [0, 0, -1]}  # one above the other, or nearly
    # A thing that is alone has nothing but the picture to be on a side of.
    assert sides("cat", 0.65, 0.9) == {"left": [-1, -1, 1], "right": [-1, -1, -1]}
    # Nor has one beside something that may be a dog or not.
    doubtful = replace(
        make_scene_objects(("dog", "hot dog"), [(0.65, 0.5), (0.9, 0.5)]),
        sides_are_relative=True,
        doubtful=(frozenset(), frozenset({"dog"})),
    )
    assert verdict(doubtful, "dog", Claim("position", "left")) == [0, -1]
    # Of three, only what is on that side of the picture and farther out than both others.
    assert sides("dog", 0.6, 0.75, 0.9) == {"left": [0, -1, -1, -1], "right": [0, 0, 1, -1]}
    assert sides("dog", 0.1, 0.25, 0.9) == {"left": [1, 0, -1, -1], "right": [-1, -1, 1, -1]}


def test_superlatives_compare_with_those_that_look_alike() -> None:
    objects = make_scene_objects(("dog", "dog", "cat"), [(0.4, 0.5), (0.8, 0.5), (0.1, 0.5)])
    assert verdict(objects, "dog", Claim("position", "leftmost")) == [1, -1, -1]
    assert verdict(objects, "cat", Claim("position", "leftmost")) == [-1, -1, 0]  # the only cat
    sizes = make_scene_objects(("dog", "dog"), [(0.2, 0.5), (0.8, 0.5)], radii=(0.1, 0.2))
    assert verdict(sizes, "dog", Claim("size", "largest")) == [-1, 1]


def test_a_relation_needs_one_anchor() -> None:
    objects = make_scene_objects(("dog", "dog", "cat"), [(0.2, 0.5), (0.8, 0.5), (0.5, 0.5)])
    assert verdict(objects, "dog", Claim("relation", "left_of", Looks(noun="cat"))) == [1, -1, -1]
    assert verdict(objects, "cat", Claim("relation", "left_of", Looks(noun="dog"))) == [-1, -1, 0]


def test_motion_is_told_from_the_path() -> None:
    objects = make_scene_objects(
        ("dog",) * 3, [(0.6, 0.2), (0.3, 0.5), (0.5, 0.8)], [(0.3, 0.2), (0.6, 0.5), (0.5, 0.8)]
    )
    assert verdict(objects, "dog", Claim("motion", "moves_left")) == [1, -1, -1]
    assert verdict(objects, "dog", Claim("motion", "moves_right")) == [-1, 1, -1]
    assert verdict(objects, "dog", Claim("motion", "still")) == [-1, -1, 1]


def test_events_are_told_by_name_and_third() -> None:
    late, early = Event("jump", 0.7, 0.9), Event("jump", 0.1, 0.3)
    objects = make_scene_objects(
        ("dog",) * 4, [(0.2, 0.2)] * 4, events=((late,), (early,), (), (Event("jump", 0.4, 0.6),))
    )
    assert verdict(objects, "dog", Claim("late_event", "jump")) == [1, -1, -1, 0]
    assert verdict(objects, "dog", Claim("early_event", "jump")) == [-1, 1, -1, 0]
    objects = make_scene_objects(("dog",) * 2, [(0.2, 0.2)] * 2, events=((Event("grow", 0.7, 0.9),), ()))
    assert verdict(objects, "dog", Claim("late_event", "swell")) == [0, -1]  # too like each other


def test_unknown_looks_are_never_said() -> None:
    objects = make_scene_objects(("dog", "dog", "cat"), [(0.2, 0.5), (0.8, 0.5), (0.5, 0.5)])
    claim = Claim("position", "left")
    description = unique_description(objects, 0, claim, [("noun", "colour", "texture", "size"), ("noun", "colour")])
    assert description is not None and description.looks == Looks(noun="dog")
    lexicon = Lexicon(nouns={"dog": ("dog", "hound"), "cat": ("cat",)})
    words = set(lexicon.vocabulary())
    for seed in range(50):
        sentence = say(description, Random(seed), lexicon)
        assert "left" in sentence and set(sentence.split()) <= words


def test_what_is_too_close_to_call_is_neither_meant_alone_nor_absent() -> None:
    """The second dog stands a little left of the middle: nobody can say whether it is the one on the left."""
    objects = make_scene_objects(("dog", "dog", "cat"), [(0.2, 0.5), (0.45, 0.5), (0.2, 0.2)])
    left = Description(Looks(noun="dog"), Claim("position", "left"))
    assert judge(left, objects).tolist() == [1, 0, -1]
    assert not is_unique(judge(left, objects), 0)
    assert unique_description(objects, 0, left.claim, [("noun",)]) is None
    for index in (0, 1):
        assert left not in true_descriptions(objects, index, "position", [("noun",)])
    alone = make_scene_objects(("dog", "cat"), [(0.45, 0.5), (0.2, 0.2)])
    assert judge(left, alone).tolist() == [0, -1] and not is_absent(judge(left, alone))
    right = Description(Looks(noun="dog"), Claim("position", "right"))
    assert judge(right, alone).tolist() == [-1, -1] and is_absent(judge(right, alone))
    alternatives = Alternatives((), (), (), lambda _colour, _noun: True)
    for seed in range(20):
        absent = absent_description(Random(seed), alone, right, alternatives, change_claim=True)
        assert absent is not None and absent.claim is not None
        assert absent.claim.name in ("top_right", "bottom_right")  # of all others it may be true


def test_absent_descriptions_differ_by_one_thing() -> None:
    objects = make_scene_objects(("dog", "dog", "cat"), [(0.2, 0.5), (0.8, 0.5), (0.8, 0.8)])
    base = Description(Looks(noun="dog"), Claim("position", "left"))
    assert is_unique(judge(base, objects), 0)
    alternatives = Alternatives(("dog", "cat", "cow"), (), (), lambda _colour, _noun: True)
    by_looks = absent_description(Random(0), objects, base, alternatives, change_claim=False)
    assert by_looks is not None and by_looks.claim == base.claim and is_absent(judge(by_looks, objects))
    by_claim = absent_description(Random(0), objects, base, alternatives, change_claim=True)
    assert by_claim is not None and by_claim.looks == base.looks and is_absent(judge(by_claim, objects))


def test_true_descriptions_are_unique() -> None:
    objects = make_scene_objects(("dog", "dog", "cat"), [(0.2, 0.5), (0.8, 0.5), (0.5, 0.5)])
    found = list(true_descriptions(objects, 0, "relation", [("noun",)]))
    assert Claim("relation", "left_of", Looks(noun="cat")) in [description.claim for description in found]
    assert all(is_unique(judge(description, objects), 0) for description in found)
