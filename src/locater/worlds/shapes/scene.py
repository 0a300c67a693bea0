"""One seed's scene: its actors over time, its backdrop, and a checked sentence."""

from dataclasses import dataclass
from random import Random

import numpy as np

from locater.errors import LocaterError
from locater.worlds.claims import Description
from locater.worlds.describing import DescribedScene, can_be_seen, describe, drawing_order, make_scene_objects
from locater.worlds.grammar import say
from locater.worlds.motion import poses
from locater.worlds.placing import CrowdedError
from locater.worlds.seeds import KINDS, parts_of_seed
from locater.worlds.sentences import (
    CLAIM_NAMES,
    Alternatives,
    Attributes,
    absent_description,
    true_descriptions,
    unique_description,
)
from locater.worlds.shapes.backdrop import Backdrop, draw_backdrop
from locater.worlds.shapes.looks import (
    COLOURS,
    HELD_OUT_PAIRS,
    LEXICON,
    SHAPES,
    TEXTURES,
    AppearanceSampler,
)
from locater.worlds.staging import stage

LEAST_FRAMES = 12
MOST_DRAWS = 400  # a scene takes two or three


@dataclass(frozen=True)
class Scene(DescribedScene):
    """A video of shapes without its pixels, with one question to it."""

    backdrop: Backdrop


@dataclass(frozen=True)
class Question:
    """One sentence on a scene, checked to mean one actor and no other."""

    kind: str
    expression: str
    description: Description
    referent: int  # its place among the scene's `actors`


def sample_scene(seed: int, frame_count: int = 32, frames_per_second: float = 8.0) -> Scene:
    """The scene of a seed, the same at every call."""
    split, kind, _ = parts_of_seed(seed)
    if frame_count < LEAST_FRAMES:
        raise LocaterError(f"a video of {frame_count} frames is too short for events; choose at least {LEAST_FRAMES}.")
    rng = Random(seed)
    is_held_out = split == "heldout"
    for _ in range(MOST_DRAWS):
        base_kind = rng.choice(KINDS[:-1]) if kind == "absent" else kind
        # Half of the held-out absent sentences name a held-out pair of which the scene shows one half only.
        changes_claim = kind == "absent" and rng.random() < 0.5
        appearance = AppearanceSampler(rng, is_held_out and (kind != "absent" or changes_claim))
        try:
            staged = stage(base_kind, rng, appearance)
        except CrowdedError:
            continue
        order = drawing_order(rng, staged.actors)
        actors = tuple(staged.actors[index] for index in order)
        backdrop = draw_backdrop(rng, frame_count)
        ground = poses(actors, frame_count)
        objects = make_scene_objects(actors, ground, backdrop.camera)
        places = {old: new for new, old in enumerate(order)}
        members = [index for index, actor in enumerate(actors) if not actor.is_occluder]
        referent = members.index(places[0])
        if not can_be_seen(objects, referent, staged, base_kind):
            continue
        description = describe(objects, referent, staged, must_say=("noun", "colour") if is_held_out else ())
        if description is not None and kind == "absent":
            description = absent_description(rng, objects, description, _alternatives(is_held_out), changes_claim)
        if description is None:
            continue
        ground[..., :2] += backdrop.camera
        return Scene(
            seed=seed,
            split=split,
            kind=kind,
            frame_count=frame_count,
            frames_per_second=frames_per_second,
            actors=actors,
            poses=ground.astype(np.float32),
            backdrop=backdrop,
            objects=objects,
            description=description,
            expression=say(description, rng, LEXICON, objects.occluder),
            referent=None if kind == "absent" else places[0],
            twins=tuple(places[index] for index in range(1, 1 + staged.twin_count)),
        )
    raise RuntimeError(f"seed {seed} gave no scene in {MOST_DRAWS} draws")


def questions(scene: Scene, most_per_topic: int = 2) -> list[Question]:
    """Sentences that are uniquely true of the scene, its own first; at most so many for each actor and kind."""
    rng = Random(scene.seed + 1)
    found: list[Question] = []
    if scene.referent is not None:
        found.append(Question(scene.kind, scene.expression, scene.description, scene.referent))
    attempts: list[Attributes] = [("noun", "colour"), ("noun", "colour", "texture"), ("noun", "colour", "size")]
    for index, actor in enumerate(scene.actor_of_member):
        by_looks = unique_description(scene.objects, index, None, [("noun",), *attempts])
        by_topic = [("appearance", [by_looks] if by_looks else [])]
        by_topic += [(topic, list(true_descriptions(scene.objects, index, topic, attempts))) for topic in CLAIM_NAMES]
        for topic, descriptions in by_topic:
            rng.shuffle(descriptions)
            for description in descriptions[:most_per_topic]:
                text = say(description, rng, LEXICON, scene.objects.occluder)
                kind = "size" if topic == "appearance" and description.looks.size else topic
                if all(description != earlier.description for earlier in found):
                    found.append(Question(kind, text, description, actor))
    return found


def _alternatives(is_held_out: bool) -> Alternatives:
    def is_allowed(colour: str, noun: str) -> bool:
        if not colour or not noun:
            return not is_held_out
        return ((colour, noun) in HELD_OUT_PAIRS) == is_held_out

    return Alternatives(SHAPES, COLOURS, TEXTURES, is_allowed)
