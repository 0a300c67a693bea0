"""People by what they do: who is a surfer, who is not, and what may then be said to be absent."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from locater.worlds.claims import Claim, Description, Looks, judge
from locater.worlds.composed import Pack, Scene, SceneSampler, Sources, compose
from locater.worlds.composed.pack.nouns import ROLES, SYNONYMS, Nouns, is_person
from locater.worlds.composed.pack.photographs import Shown
from locater.worlds.composed.pack.roles import CARRIED, HELD, RIDDEN, owners, with_roles
from locater.worlds.composed.scene.view import View, thing_actors
from locater.worlds.motion import poses
from locater.worlds.scene_objects import SceneObjects
from locater.worlds.seeds import video_seed
from tests.support.composed_sources import SMALL, Marks, make_backgrounds, make_marked, small_pack
from tests.support.worlds.well_asked import is_well_asked

Box = tuple[float, float, float, float]
MORE = replace(SMALL, photographs=60)


def shown(noun: str, box: Box) -> Shown:
    middle = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return Shown(1, noun, (), "", (), middle, box, (box[2] - box[0]) * (box[3] - box[1]))


def called(*things: Shown) -> list[str]:
    return [thing.noun for thing in with_roles(things)]


PERSON: Box = (0.4, 0.2, 0.6, 0.7)


@pytest.mark.parametrize("noun", HELD)
def test_who_overlaps_what_is_held_is_called_by_it(noun: str) -> None:
    assert called(shown("person", PERSON), shown(noun, (0.35, 0.6, 0.65, 0.7))) == [HELD[noun], noun]
    assert called(shown("person", PERSON), shown(noun, (0.65, 0.6, 0.9, 0.7))) == ["person", noun]  # beside
    assert called(shown("person", PERSON), shown(noun, (0.57, 0.2, 0.9, 0.7))) == ["person", noun]  # hardly touching
    assert called(shown("dog", PERSON), shown(noun, (0.35, 0.6, 0.65, 0.7))) == ["dog", noun]


@pytest.mark.parametrize("noun", RIDDEN)
def test_who_is_over_what_is_ridden_is_called_by_it(noun: str) -> None:
    assert called(shown("person", PERSON), shown(noun, (0.3, 0.4, 0.7, 0.85))) == [RIDDEN[noun], noun]
    beside = shown(noun, (0.65, 0.4, 0.95, 0.7))
    pushing = shown(noun, (0.52, 0.3, 0.9, 0.7))  # overlaps, but the person's middle is not over it
    before = shown(noun, (0.3, 0.25, 0.7, 0.6))  # the person stands lower than it does
    for other in (beside, pushing, before):
        assert called(shown("person", PERSON), other) == ["person", noun]


def test_two_different_tools_tell_nothing_and_two_of_a_kind_tell_it() -> None:
    board, racket = shown("surfboard", (0.35, 0.6, 0.65, 0.7)), shown("tennis racket", (0.4, 0.3, 0.5, 0.4))
    assert called(shown("person", PERSON), board, racket)[0] == "person"
    assert called(shown("person", PERSON), board, board)[0] == "surfer"
    bat, glove = shown("baseball bat", (0.45, 0.3, 0.6, 0.4)), shown("baseball glove", (0.4, 0.3, 0.5, 0.4))
    assert called(shown("person", PERSON), bat, glove)[0] == "baseball player"


def test_each_is_called_by_what_is_theirs_and_stays_a_person() -> None:
    board = shown("surfboard", (0.35, 0.6, 0.65, 0.7))
    other = shown("person", (0.75, 0.2, 0.95, 0.7))
    things = with_roles([shown("person", PERSON), other, board])
    assert [thing.noun for thing in things] == ["surfer", "person", "surfboard"]
    assert things[0] == replace(shown("person", PERSON), noun="surfer", broader=("person",))
    assert things[1:] == (other, board)


def test_a_thing_is_its_riders_or_holders_whatever_they_are_called() -> None:
    board, other = shown("surfboard", (0.35, 0.6, 0.65, 0.7)), shown("person", (0.75, 0.2, 0.95, 0.7))
    things = with_roles([other, shown("person", PERSON), board, shown("dog", PERSON)])
    assert [thing.noun for thing in things] == ["person", "surfer", "surfboard", "dog"]
    assert [owners(things, place) for place in range(4)] == [(), (), (1,), ()]
    behind = shown("person", (0.5, 0.25, 0.65, 0.7))
    horse = shown("horse", (0.3, 0.4, 0.7, 0.85))
    assert owners(with_roles([horse, shown("person", PERSON), behind, other]), 0) == (1, 2)


@pytest.mark.parametrize("noun", CARRIED)
def test_what_is_mostly_before_a_person_is_carried_and_makes_nobody_anything(noun: str) -> None:
    person, inside = shown("person", PERSON), shown(noun, (0.45, 0.3, 0.65, 0.5))  # three quarters of it
    assert owners([person, inside], 1) == (0,) and called(person, inside) == ["person", noun]
    assert owners([person, shown(noun, (0.5, 0.3, 0.7, 0.5))], 1) == ()  # half of it
    assert owners([shown("dog", PERSON), inside], 1) == ()


def test_every_role_can_be_said() -> None:
    assert {*HELD.values(), *RIDDEN.values()} == set(ROLES)


def test_whoever_does_something_is_a_person() -> None:
    """Else the colour said of them would be measured on a whole animal or thing, not on what people wear."""
    said = {*ROLES, *(way for ways in ROLES.values() for way in ways), *SYNONYMS["person"]}
    assert {word for word in said if not is_person(word)} == set()
    assert is_person("policeman") and is_person("swimmer") and not is_person("skateboard")


def test_role_words_are_said_of_people_at_large_only_where_no_role_is_known() -> None:
    plain = Nouns({"person": (), "dog": ("animal",)}).said()
    assert plain["person"] == SYNONYMS["person"] and "surfer" in plain["person"]
    roles = Nouns({"person": (), "surfer": ("person",), "cyclist": ("person",)}).said()
    assert roles["surfer"] == ("surfer",) and roles["cyclist"] == ("cyclist", "biker", "rider")
    gone = {"surfer", "cyclist", "rider"}
    assert roles["person"] == tuple(word for word in SYNONYMS["person"] if word not in gone)
    assert "skater" in roles["person"]  # nobody is known to be one
    assert small_pack().nouns.said()["person"] == SYNONYMS["person"]


# ---- A pack of them --------------------------------------------------------------------------------------------------


def make_people(folder: Path) -> tuple[Path, Path]:
    """Photographs of a surfer, a skier, a plain person with a dog, and a boat with a sheep, in turns."""
    person, held = (60, 24, 84, 80), (72, 66, 96, 84)
    pictures: dict[str, Marks] = {
        "surfer": [("person", person), ("surfboard", held)],
        "skier": [("person", person), ("skis", held)],
        "plain": [("person", person), ("dog", (104, 50, 140, 84))],
        "none": [("boat", (20, 40, 70, 90)), ("sheep", (100, 40, 140, 90))],
    }
    return make_marked(folder, pictures, 48)


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder = tmp_path_factory.mktemp("people")
    sources = Sources(coco=[make_people(folder)], backgrounds=[make_backgrounds(folder)])
    compose(sources, folder / "pack", (), MORE)
    return Pack(folder / "pack")


def objects_in(pack: Pack, kind: str) -> SceneObjects:
    """What sentences see of the first photograph of a kind, whole and with nothing laid over it."""
    number = next(n for n, each in enumerate(pack.photographs) if kind in each.source and each.things)
    entry = pack.photographs[number]
    view = View(number, 0.0, 0.0, 1.0, 1.0, False, entry.things, entry.vague)
    actors = tuple(thing_actors(view))
    return SceneSampler(pack).objects_of(actors, poses(actors, 12), np.zeros((12, 2)), view)


def verdict(objects: SceneObjects, noun: str, claim: Claim | None = None) -> list[int]:
    return [int(each) for each in judge(Description(Looks(noun), claim), objects)]


def test_a_surfer_is_a_person_and_no_skier(pack: Pack) -> None:
    objects = objects_in(pack, "surfer")
    place = objects.nouns.index("surfer")
    assert sorted(objects.nouns) == ["surfboard", "surfer"]
    one = [1 if index == place else -1 for index in range(2)]
    assert verdict(objects, "surfer") == one and verdict(objects, "person") == one
    assert verdict(objects, "skier") == [-1, -1]  # clearly absent


def test_of_a_plain_person_nobody_knows_that_they_do_not_ski(pack: Pack) -> None:
    objects = objects_in(pack, "plain")
    place = objects.nouns.index("person")
    for role in ("skier", "surfer"):
        assert verdict(objects, role)[place] == 0
    assert verdict(objects, "person")[place] == 1
    assert set(verdict(objects_in(pack, "none"), "skier")) == {-1}


def test_scenes_of_such_a_pack_say_what_is_true(pack: Pack) -> None:
    sampler = SceneSampler(pack, kin_share=0.5)
    absent: list[Scene] = [sampler.scene(video_seed("train", "absent", number)) for number in range(120)]
    missing = [scene for scene in absent if scene.description.looks.noun in ROLES]
    assert len(missing) >= 5
    for scene in missing:
        assert is_well_asked(scene)
        if scene.description.claim is None and scene.description.looks == Looks(scene.description.looks.noun):
            assert not {"person", scene.description.looks.noun} & set(scene.objects.nouns), scene.expression
    shown_scenes = [sampler.scene(video_seed("train", "appearance", number)) for number in range(60)]
    called_person = [
        scene
        for scene in shown_scenes
        if scene.referent is not None
        and scene.actors[scene.referent].noun in ROLES
        and scene.description.looks.noun == "person"
    ]
    assert all(is_well_asked(scene) for scene in shown_scenes)
    by_role = [scene for scene in shown_scenes if scene.description.looks.noun in ROLES]
    assert by_role
    for scene in by_role:
        assert set(ROLES[scene.description.looks.noun]) & set(scene.expression.split())
    assert called_person
    for scene in called_person:
        assert not {"surfer", "skier"} & set(scene.expression.split())
