"""One seed's scene: its actors over time, its backdrop, and a checked sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import numpy.typing as npt

from locater.errors import LocaterError
from locater.worlds.cast import Array, Cast
from locater.worlds.claims import Claim, Description, is_absent, is_unique, judge
from locater.worlds.grammar import say
from locater.worlds.sentences import (
    CLAIM_NAMES,
    Alternatives,
    Attributes,
    absent_description,
    looks_of,
    true_descriptions,
    unique_description,
)
from locater.worlds.shapes.backdrop import Backdrop, draw_backdrop
from locater.worlds.shapes.looks import (
    COLOURS,
    HELD_OUT_PAIRS,
    LEXICON,
    OCCLUDER,
    SHAPES,
    TEXTURES,
    Wardrobe,
)
from locater.worlds.shapes.motion import Actor, poses
from locater.worlds.shapes.seeds import KINDS, parts_of_seed
from locater.worlds.shapes.staging import CrowdedError, Stage, stage

LEAST_FRAMES = 12
MOST_DRAWS = 400  # a scene takes two or three
OUTER_RADIUS = 1.2  # in nominal radii: no shape reaches farther


@dataclass(frozen=True)
class Scene:
    """A video without its pixels, with one question to it."""

    seed: int
    split: str
    kind: str
    frame_count: int
    frames_per_second: float
    actors: tuple[Actor, ...]  # in the order they are drawn, the wall included
    poses: npt.NDArray[np.float32]  # (N, F, 5): x, y, radius, angle, flash; camera shake included
    backdrop: Backdrop
    cast: Cast  # the actors without the wall, in the same order
    description: Description
    expression: str
    referent: int | None  # its place among `actors`; None: absent
    twins: tuple[int, ...]  # places among `actors` of those that look like the referent (in an absent scene: anyone)

    @cached_property
    def actor_of_member(self) -> tuple[int, ...]:
        """For each member of the cast its place among `actors`."""
        return tuple(index for index, actor in enumerate(self.actors) if not actor.is_occluder)


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
        wardrobe = Wardrobe(rng, is_held_out and (kind != "absent" or changes_claim))
        try:
            staged = stage(base_kind, rng, wardrobe)
        except CrowdedError:
            continue
        order = _drawing_order(rng, staged.actors)
        actors = tuple(staged.actors[index] for index in order)
        backdrop = draw_backdrop(rng, frame_count)
        ground = poses(actors, frame_count)
        cast = make_cast(actors, ground, backdrop.camera)
        places = {old: new for new, old in enumerate(order)}
        members = [index for index, actor in enumerate(actors) if not actor.is_occluder]
        referent = members.index(places[0])
        if not _can_be_seen(cast, referent, staged, base_kind):
            continue
        description = _describe(cast, referent, staged, is_held_out)
        if description is not None and kind == "absent":
            description = absent_description(rng, cast, description, _alternatives(is_held_out), changes_claim)
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
            cast=cast,
            description=description,
            expression=say(description, rng, LEXICON, cast.occluder),
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
        by_looks = unique_description(scene.cast, index, None, [("noun",), *attempts])
        by_topic = [("appearance", [by_looks] if by_looks else [])]
        by_topic += [(topic, list(true_descriptions(scene.cast, index, topic, attempts))) for topic in CLAIM_NAMES]
        for topic, descriptions in by_topic:
            rng.shuffle(descriptions)
            for description in descriptions[:most_per_topic]:
                text = say(description, rng, LEXICON, scene.cast.occluder)
                kind = "size" if topic == "appearance" and description.looks.size else topic
                if all(description != earlier.description for earlier in found):
                    found.append(Question(kind, text, description, actor))
    return found


def make_cast(actors: Sequence[Actor], ground: Array, camera: Array) -> Cast:
    """What sentences see of the actors, given their poses without camera shake."""
    members = [index for index, actor in enumerate(actors) if not actor.is_occluder]
    poses = ground[members]
    hidden = np.zeros(poses.shape[:2])
    outer = OUTER_RADIUS * poses[..., 2]
    covered = np.zeros_like(hidden)
    wall = next((index for index, actor in enumerate(actors) if actor.is_occluder), None)
    if wall is not None:
        sides = []
        for axis in (0, 1):
            place, half = ground[wall, 0, axis], actors[wall].extent[axis]
            low = np.maximum(poses[..., axis] - outer, place - half)
            high = np.minimum(poses[..., axis] + outer, place + half)
            sides.append(np.clip((high - low) / (2 * outer), 0.0, 1.0))
        is_behind = np.array([index < wall for index in members])
        covered = sides[0] * sides[1] * is_behind[:, None]
    if len(members) > 1:
        offsets = poses[:, None, :, :2] - poses[None, :, :, :2]  # (N, N, F, 2)
        distances = np.sqrt((offsets * offsets).sum(axis=3))
        radii = poses[..., 2]
        overlap = np.clip((radii[:, None] + radii[None] - distances) / (2 * radii[:, None]), 0.0, 1.0)
        is_before = np.triu(np.ones((len(members), len(members))), 1)  # j is drawn after i
        hidden = (overlap * is_before[..., None]).max(axis=1)
    return Cast(
        nouns=tuple(actors[index].noun for index in members),
        colours=tuple(actors[index].colour for index in members),
        textures=tuple(actors[index].texture for index in members),
        centres=poses[..., :2] + camera,
        radii=poses[..., 2],
        angles=poses[..., 3],
        covered=covered,
        visibility=1 - np.maximum(hidden, covered),
        events=tuple(tuple(actors[index].events) for index in members),
        camera=camera,
        occluder=OCCLUDER if wall is not None else "",
    )


def check(scene: Scene) -> bool:
    """Whether the scene's sentence means its referent and no other, or, when absent, nobody."""
    verdict = judge(scene.description, scene.cast)
    if scene.referent is None:
        return is_absent(verdict)
    return is_unique(verdict, scene.actor_of_member.index(scene.referent))


def _drawing_order(rng: Random, actors: list[Actor]) -> list[int]:
    order = list(range(len(actors)))
    rng.shuffle(order)
    return sorted(order, key=lambda index: 1 if actors[index].is_occluder else 2 * actors[index].is_in_front)


def _can_be_seen(cast: Cast, referent: int, staged: Stage, kind: str) -> bool:
    """Whether the referent is mostly in view, and in an occlusion scene hidden for a while."""
    group = [index for index in range(len(cast)) if staged.twin_count and _look_alike(cast, index, referent)]
    if kind == "occlusion":
        hidden_share = (cast.covered[referent] >= 0.98).mean()
        is_seen = all((cast.visibility[index] >= 0.6).mean() >= 0.5 for index in {referent, *group})
        return bool(0.08 <= hidden_share <= 0.35) and is_seen
    # Twins must be as well in view: else the hidden one would be the wrong one.
    return all(
        (cast.visibility[index] >= 0.6).mean() >= 0.85 and cast.visibility[index].mean() >= 0.8
        for index in {referent, *group}
    )


def _look_alike(cast: Cast, one: int, two: int) -> bool:
    attributes = ("noun", "colour", "texture")
    return looks_of(cast, one, attributes) == looks_of(cast, two, attributes)


def _describe(cast: Cast, referent: int, staged: Stage, is_held_out: bool) -> Description | None:
    attempts = staged.attempts
    claim = staged.claim
    if claim is not None and claim.name in ("growing", "shrinking"):
        attempts = [attributes for attributes in attempts if "size" not in attributes]
    if is_held_out:  # the held-out pair must be said
        attempts = [(*attributes, "noun", "colour") for attributes in attempts]
    description = unique_description(cast, referent, claim, attempts)
    if description is None and claim is not None and claim.topic == "relation":
        anchor = claim.anchor
        match = next(i for i, noun in enumerate(cast.nouns) if noun == anchor.noun and i != referent)
        fuller = Claim("relation", claim.name, looks_of(cast, match, ("noun", "colour")))
        description = unique_description(cast, referent, fuller, attempts)
    return description


def _alternatives(is_held_out: bool) -> Alternatives:
    def is_allowed(colour: str, noun: str) -> bool:
        if not colour or not noun:
            return not is_held_out
        return ((colour, noun) in HELD_OUT_PAIRS) == is_held_out

    return Alternatives(SHAPES, COLOURS, TEXTURES, is_allowed)
