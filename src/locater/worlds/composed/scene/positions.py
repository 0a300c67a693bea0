"""The fixed scenes that ask for the one on the left and the one on the right: two unseen cut-outs of one class.

Both are asked about in the same words but for the side, so that who does not read the side is right half the time.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from locater.errors import LocaterError
from locater.worlds.claims import Claim, Description, Looks, is_unique, judge, judge_looks
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.classes import group_of
from locater.worlds.composed.scene.compositing import draw_compositing
from locater.worlds.composed.scene.scene import Scene, SceneSampler
from locater.worlds.composed.scene.view import draw_camera, draw_view, thing_actors
from locater.worlds.grammar import say
from locater.worlds.motion import OUTER_RADIUS, Actor, poses
from locater.worlds.scene_objects import SceneObjects
from locater.worlds.seeds import video_seed

SIDES = ("left", "right")
LEAST_CLASSES = 3  # fewer would say how one class looks, not whether sides are understood
FRAMES = 12
FRAMES_PER_SECOND = 8.0
_PAIRS, _DRAWS_OF_A_PAIR = 40, 200  # else what fits badly would be rare
_PLACES = {"left": (0.1, 0.36), "right": (0.64, 0.9)}  # of the middles, as in the world's own sentences on position
_RADII = (0.11, 0.2)
_MOST_OUTER = 0.23  # radius of the circle around a whole cut-out: two of them fit side by side
_APART = 0.85  # of the sum of both: such circles have empty rims
_DRIFTS = (0.02, 0.05)  # way travelled in the video
_RIM = 0.03  # kept free at the frame's border: the camera moves


@dataclass(frozen=True)
class PositionScene:
    """Two of a class, one on each side."""

    scene: Scene  # as asked for the one on the left
    actors: Mapping[str, int]  # by side: its place among the scene's actors
    expressions: Mapping[str, str]  # by side
    noun: str  # what both are called
    is_one_picture: bool  # the same cut-out twice, once mirrored


class PositionSampler:
    """Makes the scenes of one split of a pack, each from its number alone."""

    def __init__(self, pack: Pack, split: str = "heldout") -> None:
        self.pack = pack
        self.split = split
        self._sampler = SceneSampler(pack)
        self._classes = list(_classes(pack, split).values())
        if len(self._classes) < LEAST_CLASSES:
            advice = (
                "hold more out with `locater data compose --hold-out`, or choose --split test"
                if split == "heldout"
                else "put more photographs of things into it"
            )
            raise LocaterError(
                f"Positions needs cut-outs from photographs of at least {LEAST_CLASSES} classes, and the split {split} "
                f"of the pack {pack.folder} has {len(self._classes)}; {advice}."
            )
        self._weights = [math.sqrt(len(numbers)) for numbers in self._classes]  # as in the world itself
        splits = ("heldout", "test") if split == "heldout" else (split,)
        self._photographs = [number for number, entry in enumerate(pack.photographs) if entry.split in splits]
        if not self._photographs:
            raise LocaterError(f"The pack {pack.folder} has no photographs in its split {split}; add some.")

    def scene(self, number: int) -> PositionScene:
        """The scene of a number, the same at every call and for any count of scenes."""
        seed = video_seed(self.split, "position", number)
        rng = Random(f"positions {seed}")
        for _ in range(_PAIRS):
            pictures = self._pair(rng)
            for _ in range(_DRAWS_OF_A_PAIR):
                found = self._draw(rng, seed, pictures)
                if found is not None:
                    return found
        raise LocaterError(
            f"The pack {self.pack.folder} gave no scene with two of a class in its split {self.split}; "
            "put more classes into it."
        )

    def _draw(self, rng: Random, seed: int, pictures: Sequence[int]) -> PositionScene | None:
        pair = [self._actor(rng, picture, side) for picture, side in zip(pictures, SIDES, strict=True)]
        if pictures[0] == pictures[1]:
            pair[1].is_mirrored = not pair[0].is_mirrored
        if not _is_apart(*pair):
            return None
        photograph = rng.choice(self._photographs)
        view = draw_view(rng, photograph, self.pack.photographs[photograph])
        things = thing_actors(view)
        order = rng.sample(SIDES, 2)  # back to front
        actors = (*things, *(pair[SIDES.index(side)] for side in order))
        ground = poses(actors, FRAMES)
        camera = draw_camera(rng, FRAMES)
        objects = self._sampler.objects_of(actors, ground, camera, view)
        of_side = {side: len(things) + order.index(side) for side in SIDES}
        descriptions = self._described(rng, objects, of_side, pictures)
        if descriptions is None:
            return None
        words = rng.getrandbits(32)
        expressions = {side: say(each, Random(words), self._sampler.lexicon) for side, each in descriptions.items()}
        # Each on its own: of one picture twice, too, the light and the lens differ.
        compositing = [
            draw_compositing(rng, self.pack, view, (*things, actor), FRAMES) for actor in actors[len(things) :]
        ]
        ground[..., :2] += camera
        scene = Scene(
            seed=seed,
            split=self.split,
            kind="position",
            frame_count=FRAMES,
            frames_per_second=FRAMES_PER_SECOND,
            view=view,
            actors=actors,
            poses=ground.astype(np.float32),
            camera=camera,
            compositing=replace(compositing[0], cutouts=np.concatenate([each.cutouts for each in compositing])),
            objects=objects,
            description=descriptions["left"],
            expression=expressions["left"],
            referent=of_side["left"],
            twins=(of_side["right"],),
        )
        return PositionScene(
            scene, of_side, expressions, descriptions["left"].looks.noun, is_one_picture=pictures[0] == pictures[1]
        )

    def _pair(self, rng: Random) -> list[int]:
        """Two cut-outs of one class, in random order; the same one twice where the class has no other."""
        numbers = rng.choices(self._classes, self._weights)[0]
        return rng.sample(numbers, 2) if len(numbers) > 1 else [numbers[0]] * 2

    def _actor(self, rng: Random, picture: int, side: str) -> Actor:
        entry = self.pack.cutouts[picture]
        radius = min(rng.uniform(*_RADII), _MOST_OUTER / (OUTER_RADIUS * entry.reach))
        edge = OUTER_RADIUS * entry.reach * radius + _RIM
        low, high = _PLACES[side]
        way, drift = rng.uniform(0, 2 * math.pi), rng.uniform(*_DRIFTS)
        return Actor(
            entry.colour,
            entry.noun,
            "",
            radius,
            angle=rng.uniform(-0.25, 0.25),
            x=rng.uniform(max(low, edge), min(high, 1 - edge)),
            y=rng.uniform(edge, 1 - edge),
            velocity=(drift * math.cos(way), drift * math.sin(way)),
            reach=entry.reach,
            picture=picture,
            is_mirrored=rng.random() < 0.5,
        )

    def _described(
        self, rng: Random, objects: SceneObjects, of_side: Mapping[str, int], pictures: Sequence[int]
    ) -> dict[str, Description] | None:
        """What is said of each; None unless both and nothing else have the noun, and each is clearly on its side."""
        one, two = (self.pack.cutouts[picture] for picture in pictures)
        looks = Looks(noun=rng.choice((one.noun, group_of(one))) if one.noun == two.noun else group_of(one))
        called = judge_looks(looks, objects)
        if np.count_nonzero(called != -1) != 2 or any(called[member] != 1 for member in of_side.values()):
            return None
        found = {side: Description(looks, Claim("position", side)) for side in SIDES}
        is_clear = all(is_unique(judge(found[side], objects), of_side[side]) for side in SIDES)
        return found if is_clear else None


def _classes(pack: Pack, split: str) -> Mapping[str, list[int]]:
    """The split's own cut-outs from photographs, by class; drawn sprites are no real pixels."""
    found: dict[str, list[int]] = defaultdict(list)
    for number, entry in enumerate(pack.cutouts):
        if entry.split == split and not entry.is_sprite:
            found[group_of(entry)].append(number)
    return found


def _is_apart(one: Actor, two: Actor) -> bool:
    """Whether neither ever hides much of the other."""
    outer = OUTER_RADIUS * (one.reach * one.radius + two.reach * two.radius)
    return math.hypot(one.x - two.x, one.y - two.y) >= _APART * outer + _DRIFTS[1]
