"""Which of a photograph's own things scenes are about."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from locater.worlds.claims import Claim
from locater.worlds.composed import Pack, SceneSampler, Sources, compose
from locater.worlds.composed.scene import photograph_pool
from locater.worlds.composed.scene.photograph_pool import PhotographPool
from locater.worlds.seeds import video_seed
from tests.support.composed_sources import SMALL, Marks, make_backgrounds, make_marked

PICTURES: dict[str, Marks] = {
    "two": [("dog", (14, 40, 50, 80)), ("dog", (100, 40, 136, 80)), ("cup", (60, 10, 90, 40))],
    "one": [("cat", (60, 40, 100, 80))],
    "far": [("car", (92, 44, 116, 84)), ("car", (126, 44, 154, 84))],  # both on one side of it
    "six": [("duck", (24 * place + 4, 50, 24 * place + 24, 76)) for place in range(6)],
}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    folder = tmp_path_factory.mktemp("pool")
    sources = Sources(coco=[make_marked(folder, PICTURES, 48)], backgrounds=[make_backgrounds(folder)])
    compose(sources, folder / "pack", (), replace(SMALL, photographs=60))
    return Pack(folder / "pack")


def test_what_rivals_decide_about_is_mostly_one_of_a_few_of_its_noun(pack: Pack) -> None:
    numbers = [number for number, entry in enumerate(pack.photographs) if entry.things]
    pool = PhotographPool(pack, numbers)
    assert {"dog", "cat", "duck"} <= {thing.noun for number in numbers for thing in pack.photographs[number].things}

    def nouns(has_rivals: bool) -> list[str]:
        rng = Random(0)
        drawn = (pool.one_with_a_thing(rng, has_rivals) for _ in range(400))
        return [noun for _, noun in filter(None, drawn)]

    of_all, of_rivals = nouns(has_rivals=False), nouns(has_rivals=True)
    of_several = [noun for noun in of_rivals if noun in ("dog", "car")]
    assert of_all.count("dog") < 200 and len(of_several) > 320  # six ducks are too many to be told apart
    assert of_rivals.count("duck") and of_rivals.count("cat")  # but not never


def test_a_place_mostly_decides(pack: Pack, monkeypatch: pytest.MonkeyPatch) -> None:
    def share(of_rivals: float, kind: str) -> float:
        """How many of a kind's scenes about a photograph's own thing show another of its noun."""
        monkeypatch.setattr(photograph_pool, "RIVAL_SHARE", of_rivals)
        sampler = SceneSampler(pack)
        found = [sampler.scene(video_seed("train", kind, number)) for number in range(80)]
        own = [scene for scene in found if scene.referent is not None and scene.referent < scene.thing_count]
        nouns = [(scene.actors[scene.referent or 0].noun, [thing.noun for thing in scene.view.things]) for scene in own]
        return sum(shown.count(noun) > 1 for noun, shown in nouns) / len(nouns)

    usual = photograph_pool.RIVAL_SHARE
    assert share(0.0, "position") + 0.2 < share(usual, "position")
    assert share(0.0, "appearance") == share(usual, "appearance")  # of these a noun decides


def test_what_is_said_to_be_on_a_side_may_be_on_the_other_side_of_the_picture(pack: Pack) -> None:
    sampler = SceneSampler(pack)
    scenes = [sampler.scene(video_seed("train", "position", number)) for number in range(150)]
    places = {
        side: [
            float(scene.poses[scene.referent, :, 0].mean())
            for scene in scenes
            if scene.referent is not None and scene.description.claim == Claim("position", side)
        ]
        for side in ("left", "right")
    }
    assert max(places["left"]) > 0.5 or min(places["right"]) < 0.5
    assert np.mean(places["left"]) < 0.4 and np.mean(places["right"]) > 0.6
