"""The three failure types as staged actors and checked sentences, whatever world draws them.

Binding: a red circle beside a blue square, a blue circle beside a red square. Both sentences have the same words, so
that who only collects words marks the same for both. Ambiguity: two things that the sentence fits equally, as in "black
dog running on the grass". Reflection: a thing and its image in still water, which does whatever the thing does.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from locater.worlds.claims import Claim, Description, Verdict, judge
from locater.worlds.grammar import Lexicon, say
from locater.worlds.motion import Actor
from locater.worlds.scene_objects import SceneObjects
from locater.worlds.sentences import looks_of

KINDS = ("binding", "ambiguity", "reflection")
FRAMES = 12
FRAMES_PER_SECOND = 8.0
MOST_DRAWS = 400
_DRIFTS = (0.02, 0.06)  # way travelled in the video
_SHORE = 0.5  # height of the water

Grid = Sequence[Sequence[Actor]]  # of two nouns in two colours each, without places: (noun, colour)


@dataclass(frozen=True)
class Staged:
    """Actors with places, and which of them each question means."""

    actors: tuple[Actor, ...]
    meant: tuple[tuple[int, ...], ...]  # a question: places among the actors


@dataclass(frozen=True)
class Question:
    """A sentence's content, and the members that it means."""

    description: Description
    meant: tuple[int, ...]


def stage(kind: str, rng: Random, grid: Grid) -> Staged:
    """The actors of one scene of a kind."""
    return _STAGES[kind](rng, grid)


def described(kind: str, objects: SceneObjects, staged: Staged, members: Sequence[int]) -> list[Question] | None:
    """What is asked of a scene, given each actor's place among `objects`; None unless each fits those meant alone."""
    found = []
    for number, meant in enumerate(staged.meant):
        places = tuple(members[actor] for actor in meant)
        description = _described(kind, objects, places[0], number, members)
        if not _fits_exactly(judge(description, objects), places):
            return None
        found.append(Question(description, places))
    return found


def said(rng: Random, questions: Sequence[Question], lexicon: Lexicon) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each question's sentence with whom it means; all of a scene are asked in the same way."""
    way = rng.getrandbits(32)
    return tuple((say(each.description, Random(way), lexicon), each.meant) for each in questions)


def _described(kind: str, objects: SceneObjects, place: int, number: int, members: Sequence[int]) -> Description:
    looks = looks_of(objects, place, ("noun", "colour"))
    if kind == "ambiguity":
        return Description(looks)
    if kind == "reflection":
        return Description(looks, Claim("position", ("highest", "lowest")[number]))
    partner = members[2 * number + 1]
    return Description(looks, Claim("relation", "next_to", looks_of(objects, partner, ("noun", "colour"))))


def _fits_exactly(verdict: Verdict, places: Sequence[int]) -> bool:
    wanted = np.full(len(verdict), -1)
    wanted[list(places)] = 1
    return bool((verdict == wanted).all())


def _binding(rng: Random, grid: Grid) -> Staged:
    """Two pairs, far from each other; what is red in one is blue in the other."""
    pairs = ((grid[0][0], grid[1][1]), (grid[0][1], grid[1][0]))
    middles = rng.sample((0.25, 0.75), 2)
    placed = []
    for (one, two), x in zip(pairs, middles, strict=True):
        y, apart = rng.uniform(0.42, 0.58), rng.uniform(0.125, 0.14)
        sign = rng.choice((-1, 1))
        drift = _drift(rng)
        for actor, offset in ((one, -apart * sign), (two, apart * sign)):
            placed.append(replace(actor, x=x + rng.uniform(-0.02, 0.02), y=y + offset, velocity=drift))
    return Staged(tuple(placed), ((0,), (2,)))


def _ambiguity(rng: Random, grid: Grid) -> Staged:
    """Two of the same, and two others that share its noun or its colour."""
    alike = grid[0][0]
    actors = (alike, replace(alike, events=[]), grid[0][1], grid[1][0])
    corners = rng.sample([(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)], 4)
    placed = [
        replace(actor, x=x + rng.uniform(-0.07, 0.07), y=y + rng.uniform(-0.07, 0.07), velocity=_drift(rng))
        for actor, (x, y) in zip(actors, corners, strict=True)
    ]
    return Staged(tuple(placed), ((0, 1),))


def _reflection(rng: Random, grid: Grid) -> Staged:
    """A thing above the water, its image below, upside down and with its every move; and one other."""
    depth, way = rng.uniform(0.19, 0.26), _drift(rng)
    x, other_x = rng.sample((0.3, 0.7), 2)
    turned = rng.uniform(-0.3, 0.3)
    real = replace(grid[0][0], x=x, y=_SHORE - depth, velocity=way, angle=turned)
    image = replace(
        real,
        y=_SHORE + depth,
        velocity=(way[0], -way[1]),
        angle=math.pi - turned,  # of what is alike on its left and right, that is its mirror image
        is_mirrored=not real.is_mirrored,
        events=[],
    )
    other = replace(grid[1][1], x=other_x, y=rng.uniform(0.3, 0.7), velocity=_drift(rng))
    return Staged((real, image, other), ((0,), (1,)))


def _drift(rng: Random) -> tuple[float, float]:
    way, length = rng.uniform(0, 2 * math.pi), rng.uniform(*_DRIFTS)
    return length * math.cos(way), length * math.sin(way)


_STAGES: dict[str, Callable[[Random, Grid], Staged]] = {
    "binding": _binding,
    "ambiguity": _ambiguity,
    "reflection": _reflection,
}
