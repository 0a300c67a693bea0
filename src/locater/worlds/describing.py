"""From staged actors to objects that sentences can be checked against, and to the sentence itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import numpy.typing as npt

from locater.worlds.claims import Claim, Description
from locater.worlds.motion import OCCLUDER, OUTER_RADIUS, Actor
from locater.worlds.scene_objects import Array, SceneObjects
from locater.worlds.sentences import Attributes, looks_of, unique_description
from locater.worlds.staging import Stage


@dataclass(frozen=True)
class DescribedScene:
    """A video without its pixels, with one question to it: what every world's scenes have."""

    seed: int
    split: str
    kind: str
    frame_count: int
    frames_per_second: float
    actors: tuple[Actor, ...]  # in the order they are drawn, the wall included
    poses: npt.NDArray[np.float32]  # (N, F, 5): x, y, radius, angle, flash; camera included
    objects: SceneObjects  # the actors without the wall, in the same order; then what is vague
    description: Description
    expression: str
    referent: int | None  # its place among `actors`; None: absent
    twins: tuple[int, ...]  # places among `actors` of those that look like the referent (in an absent scene: anyone)

    @cached_property
    def actor_of_member(self) -> tuple[int, ...]:
        """For each object that is not vague its place among `actors`."""
        return tuple(index for index, actor in enumerate(self.actors) if not actor.is_occluder)


def make_scene_objects(actors: Sequence[Actor], ground: Array, camera: Array) -> SceneObjects:
    """What sentences see of the actors, given their poses without camera shake."""
    members = [index for index, actor in enumerate(actors) if not actor.is_occluder]
    poses = ground[members]
    hidden = np.zeros(poses.shape[:2])
    reaches = np.array([actors[index].reach for index in members])
    outer = OUTER_RADIUS * reaches[:, None] * poses[..., 2]
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
    return SceneObjects(
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


def drawing_order(rng: Random, actors: Sequence[Actor]) -> list[int]:
    """Back to front at random, but for the wall and those in front of it."""
    order = list(range(len(actors)))
    rng.shuffle(order)
    return sorted(order, key=lambda index: 1 if actors[index].is_occluder else 2 * actors[index].is_in_front)


def can_be_seen(objects: SceneObjects, referent: int, staged: Stage, kind: str) -> bool:
    """Whether the referent is mostly in view, and in an occlusion scene hidden for a while."""
    group = [index for index in range(len(objects)) if staged.twin_count and _look_alike(objects, index, referent)]
    if kind == "occlusion":
        hidden_share = (objects.covered[referent] >= 0.98).mean()
        is_seen = all((objects.visibility[index] >= 0.6).mean() >= 0.5 for index in {referent, *group})
        return bool(0.08 <= hidden_share <= 0.35) and is_seen
    # Twins must be as well in view: else the hidden one would be the wrong one.
    return all(
        (objects.visibility[index] >= 0.6).mean() >= 0.85 and objects.visibility[index].mean() >= 0.8
        for index in {referent, *group}
    )


def describe(objects: SceneObjects, referent: int, staged: Stage, must_say: Attributes = ()) -> Description | None:
    """What the stage wants said of the referent, in words that mean no other; None when there are none."""
    attempts = staged.attempts
    claim = staged.claim
    if claim is not None and claim.name in ("growing", "shrinking"):
        attempts = [attributes for attributes in attempts if "size" not in attributes]
    if must_say:
        attempts = [(*attributes, *must_say) for attributes in attempts]
    description = unique_description(objects, referent, claim, attempts)
    if description is None and claim is not None and claim.topic == "relation":
        anchor = claim.anchor
        match = next(i for i, noun in enumerate(objects.nouns) if noun == anchor.noun and i != referent)
        fuller = Claim("relation", claim.name, looks_of(objects, match, ("noun", "colour")))
        description = unique_description(objects, referent, fuller, attempts)
    return description


def _look_alike(objects: SceneObjects, one: int, two: int) -> bool:
    attributes = ("noun", "colour", "texture")
    return looks_of(objects, one, attributes) == looks_of(objects, two, attributes)
