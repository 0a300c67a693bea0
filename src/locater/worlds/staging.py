"""Puts actors on the stage so that one kind of sentence has something to say; `casting` checks what comes out.

Twins share colour, shape, texture, size and angle with the referent. Their places are drawn alike, so that none of
them can be told from the referent by where it stands.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Protocol

from locater.worlds.claims import DIRECTIONS, EARLY_EVENTS, LATE_EVENTS, RELATIONS, SUPERLATIVE_PLACES, Claim, Looks
from locater.worlds.motion import OUTER_RADIUS, ROOM, Actor
from locater.worlds.placing import CrowdedError, fits, is_free, place, place_twins_first
from locater.worlds.scene_objects import Event
from locater.worlds.sentences import Attributes

Room = tuple[float, float, float, float]


class AppearanceSampler(Protocol):
    """Who can appear in a world, and how sentences call them; it draws from the scene's own random numbers."""

    @property
    def radii(self) -> Mapping[str, tuple[float, float]]:
        """From and to for small, medium and large."""
        ...

    @property
    def growing_radii(self) -> tuple[float, float]:
        """The smallest radius of what grows or shrinks, and the ratio of the largest to it."""
        ...

    @property
    def crowd(self) -> tuple[int, int]:
        """Fewest and most actors."""
        ...

    @property
    def least_others(self) -> int:
        """Distractors beside the referent and its twins, at least."""
        ...

    @property
    def superlative_share(self) -> float:
        """How many sentences on size compare ("the larger dog") rather than state ("the large dog")."""
        ...

    @property
    def panel_shape(self) -> str:
        """The wall's shape."""
        ...

    @property
    def panel_texture(self) -> str:
        """The wall's texture."""
        ...

    def referent(self, turns: bool = False) -> Actor:
        """The referent without its size; `turns`: one whose turning can be seen."""
        ...

    def other(self, referent: Actor) -> Actor:
        """Another object, often with something in common, never mistaken for the referent."""
        ...

    def twin(self, actor: Actor, exact: bool) -> Actor:
        """Another object with the same words; `exact`: in all its looks the same."""
        ...

    def attempts(self, topic: str) -> list[Attributes]:
        """Attributes to say, best first."""
        ...


@dataclass
class Stage:
    """Actors, of which the first is the referent, and what is to be said of it."""

    actors: list[Actor]
    claim: Claim | None = None
    attempts: list[Attributes] = field(default_factory=list)  # attributes to say, best first
    twin_count: int = 0  # actors 1, 2, ... that share all looks with the referent


def stage(kind: str, rng: Random, appearance: AppearanceSampler) -> Stage:
    """A stage for one kind of sentence; raises CrowdedError when the draw does not fit the frame."""
    return _STAGES[kind](rng, appearance)


# ---- Actors ----------------------------------------------------------------------------------------------------------


def _sized(rng: Random, appearance: AppearanceSampler, actor: Actor, size: str = "") -> Actor:
    if not size:
        size = rng.choices(("small", "medium", "large"), (0.25, 0.5, 0.25))[0]
    actor.radius, actor.angle = rng.uniform(*appearance.radii[size]), rng.uniform(-0.35, 0.35)
    return actor


def _others(rng: Random, appearance: AppearanceSampler, actors: list[Actor], fewer: int = 0) -> list[Actor]:
    """Distractors with the referent's colour or shape, or neither; `fewer` than the world's most in all."""
    least, most = appearance.crowd
    most -= fewer
    count = max(rng.choice((least, (least + most) // 2, most)) - len(actors), appearance.least_others)
    return [_sized(rng, appearance, appearance.other(actors[0])) for _ in range(count)]


def _idle(rng: Random, actor: Actor, drift: float = 0.1) -> None:
    """Rest, drift a little, or turn."""
    draw = rng.random()
    if draw < 0.5:
        angle = rng.uniform(0, 2 * math.pi)
        actor.velocity = (drift * math.cos(angle), drift * math.sin(angle))
    elif draw < 0.65 and actor.shows_turning:
        actor.spin = rng.choice((-1, 1)) * rng.uniform(4.5, 7.0)


def _event(rng: Random, name: str, when: str) -> Event:
    length = rng.uniform(0.2, 0.28)
    start = rng.uniform(0.03, 0.33 - length) if when == "early" else rng.uniform(0.67, 0.99 - length)
    return Event(name, start, start + length)


def _add_event(actor: Actor, event: Event) -> None:
    actor.events.append(event)
    room = ROOM.get(event.name, (0.0, 0.0, 0.0, 0.0))
    actor.room = _wider(actor.room, room)


def _wider(one: Room, two: Room) -> Room:
    return (max(one[0], two[0]), max(one[1], two[1]), max(one[2], two[2]), max(one[3], two[3]))


def _maybe_event(rng: Random, actor: Actor, chance: float) -> None:
    """A distractor's own event: that something happens does not yet say that it is meant."""
    if rng.random() < chance and not actor.spin:
        when = rng.choice(("early", "late"))
        name = rng.choice(EARLY_EVENTS if when == "early" else LATE_EVENTS)
        if name != "spin" or actor.shows_turning:
            _add_event(actor, _event(rng, name, when))


# ---- Kinds -----------------------------------------------------------------------------------------------------------


def _appearance(rng: Random, appearance: AppearanceSampler) -> Stage:
    actors = [_sized(rng, appearance, appearance.referent())]
    actors += _others(rng, appearance, actors)
    for actor in actors:
        _idle(rng, actor, drift=rng.uniform(0.05, 0.25))
    for actor in actors[1:]:
        _maybe_event(rng, actor, 0.2)
    place(rng, actors, [])
    return Stage(actors, None, appearance.attempts("appearance"))


def _size(rng: Random, appearance: AppearanceSampler) -> Stage:
    size = rng.choice(("small", "large"))
    referent = _sized(rng, appearance, appearance.referent(), size)
    other_size = rng.choice(("medium", "large") if size == "small" else ("small", "medium"))
    twin = replace(appearance.twin(referent, exact=False), radius=rng.uniform(*appearance.radii[other_size]))
    actors = [referent, twin]
    actors += _others(rng, appearance, actors)
    for actor in actors:
        _idle(rng, actor)
    place(rng, actors, [])
    if rng.random() < appearance.superlative_share:
        claim = Claim("size", "smallest" if size == "small" else "largest")
        return Stage(actors, claim, appearance.attempts("superlative"), 0)
    return Stage(actors, None, appearance.attempts("size"))


def _position(rng: Random, appearance: AppearanceSampler) -> Stage:
    name = rng.choice(("left", "right", "top", "bottom", "middle", "corner", "superlative"))
    if name == "corner":
        name = rng.choice(("top_left", "top_right", "bottom_left", "bottom_right"))
    elif name == "superlative":
        name = rng.choice(tuple(SUPERLATIVE_PLACES))
    referent = _sized(rng, appearance, appearance.referent(), rng.choice(("small", "medium")))
    if rng.random() < 0.3 and referent.shows_turning:
        referent.spin = rng.uniform(4.5, 7.0)
    twin_count = rng.choice((1, 1, 2))
    actors = [referent, *(appearance.twin(referent, exact=False) for _ in range(twin_count))]
    actors += _others(rng, appearance, actors)
    for actor in actors[1 + twin_count :]:
        _idle(rng, actor, drift=0.05)
    drift = rng.choice((0.0, 0.04))
    for actor in actors[: 1 + twin_count]:
        actor.velocity = (rng.uniform(-drift, drift), rng.uniform(-drift, drift))
    referent.x, referent.y = rng.uniform(0.1, 0.9), rng.uniform(0.1, 0.9)
    for part in name.split("_"):
        referent.x = {"left": rng.uniform(0.1, 0.36), "right": rng.uniform(0.64, 0.9)}.get(part, referent.x)
        referent.y = {"top": rng.uniform(0.1, 0.36), "bottom": rng.uniform(0.64, 0.9)}.get(part, referent.y)
    if name == "middle":
        referent.x, referent.y = rng.uniform(0.41, 0.59), rng.uniform(0.41, 0.59)
    if not fits(referent):
        raise CrowdedError
    place(rng, actors[1:], [referent])
    return Stage(actors, Claim("position", name), appearance.attempts("position"), twin_count)


def _relation(rng: Random, appearance: AppearanceSampler) -> Stage:
    name = rng.choice((*RELATIONS, "next_to"))
    referent = _sized(rng, appearance, appearance.referent(), rng.choice(("small", "medium")))
    twin = appearance.twin(referent, exact=False)
    anchor = _sized(rng, appearance, appearance.other(referent), rng.choice(("small", "medium")))
    actors = [referent, twin]
    others = _others(rng, appearance, [*actors, anchor])
    for actor in (*actors, anchor, *others):
        _idle(rng, actor, drift=0.04)
    anchor.x, anchor.y = rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.7)
    if name == "next_to":
        angle, far = rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi)
        reach = rng.uniform(0.22, 0.27)
        referent.x, referent.y = anchor.x + reach * math.cos(angle), anchor.y + reach * math.sin(angle)
        reach = rng.uniform(0.48, 0.6)
        twin.x, twin.y = anchor.x + reach * math.cos(far), anchor.y + reach * math.sin(far)
    else:
        axis, sign = RELATIONS[name]
        for actor, side in ((referent, sign), (twin, -sign)):
            along, across = side * rng.uniform(0.22, 0.4), rng.uniform(-0.2, 0.2)
            actor.x = anchor.x + (across if axis else along)
            actor.y = anchor.y + (along if axis else across)
    if not (fits(referent) and fits(twin) and is_free(twin, [referent, anchor]) and is_free(referent, [anchor])):
        raise CrowdedError
    place(rng, others, [referent, twin, anchor])
    said = Looks(noun=anchor.shape, colour=anchor.colour if rng.random() < 0.7 else "")
    return Stage([*actors, anchor, *others], Claim("relation", name, said), appearance.attempts("relation"), 1)


def _motion(rng: Random, appearance: AppearanceSampler) -> Stage:
    ways = tuple(DIRECTIONS)
    name = rng.choice((*(f"moves_{way}" for way in ways), *ways, "fast", "slow", "still", "still"))
    name = {"left": "spinning", "right": "growing", "up": "shrinking", "down": "spinning"}.get(name, name)
    size = rng.choice(("small", "medium"))
    referent = _sized(
        rng, appearance, appearance.referent(turns=name == "spinning"), "medium" if name.endswith("ing") else size
    )
    twin = appearance.twin(referent, exact=True)
    if name.startswith("moves_"):
        way = name.removeprefix("moves_")
        _move(referent, way, rng.uniform(0.18, 0.28))
        opposite = {"left": "right", "right": "left", "up": "down", "down": "up"}[way]
        aside = rng.choice([other for other in ways if other not in (way, opposite)])
        twin_way = rng.choice((opposite, aside, ""))
        if twin_way:
            _move(twin, twin_way, rng.uniform(0.18, 0.28))
    elif name in ("fast", "slow"):
        for actor, low, high in ((referent, 0.7, 1.0), (twin, 0.13, 0.22)) if name == "fast" else (
            (referent, 0.13, 0.22), (twin, 0.7, 1.0)):  # fmt: skip
            _move_anyhow(rng, actor, rng.uniform(low, high))
    elif name == "still":
        _move_anyhow(rng, twin, rng.choice((rng.uniform(0.2, 0.3), rng.uniform(0.7, 1.0))))
    elif name == "spinning":
        referent.spin = rng.choice((-1, 1)) * rng.uniform(4.5, 7.5)
        _move_anyhow(rng, referent, rng.choice((0.0, 0.1, 0.2)))
        _move_anyhow(rng, twin, rng.choice((0.0, 0.1, 0.2)))
        for actor in (referent, twin):  # else the one that is askew would be the spinning one
            actor.angle = rng.uniform(0, 2 * math.pi)
    else:
        sign = 1 if name == "growing" else -1
        # Both sizes are drawn alike and widely, else the larger one at the end would be the growing one.
        smallest, ratio = appearance.growing_radii
        referent.radius, twin.radius = (smallest * ratio ** rng.random() for _ in range(2))
        referent.growth = sign * math.log(rng.uniform(1.55, 1.8))
        if rng.random() < 0.25:
            twin.growth = -referent.growth
    actors = [referent, twin]
    others = _others(rng, appearance, actors)
    for actor in others:
        draw = rng.random()
        if draw < 0.4:
            _move(actor, rng.choice(ways), rng.uniform(0.2, 0.3))
        else:
            _idle(rng, actor)
    place_twins_first(rng, actors, others)
    return Stage(actors + others, Claim("motion", name), appearance.attempts("motion"), 1)


def _move(actor: Actor, way: str, length: float) -> None:
    axis, sign = DIRECTIONS[way]
    actor.velocity = (0.0, sign * length) if axis else (sign * length, 0.0)


def _move_anyhow(rng: Random, actor: Actor, length: float) -> None:
    angle = rng.uniform(0, 2 * math.pi)
    actor.velocity = (length * math.cos(angle), length * math.sin(angle))
    actor.bounces = length > 0.3


def _early_event(rng: Random, appearance: AppearanceSampler) -> Stage:
    return _event_stage(rng, appearance, "early", EARLY_EVENTS)


def _late_event(rng: Random, appearance: AppearanceSampler) -> Stage:
    return _event_stage(rng, appearance, "late", LATE_EVENTS)


def _event_stage(rng: Random, appearance: AppearanceSampler, when: str, names: tuple[str, ...]) -> Stage:
    name = rng.choice(names)
    turns = name == "spin"
    referent = _sized(rng, appearance, appearance.referent(turns), rng.choice(("small", "medium")))
    angle, drift = rng.uniform(0, 2 * math.pi), rng.choice((0.0, 0.06, 0.12))
    referent.velocity = (drift * math.cos(angle), drift * math.sin(angle))
    twin = appearance.twin(referent, exact=True)
    _add_event(referent, _event(rng, name, when))
    if rng.random() < 0.35:  # the twin does something else, at the same time
        other = rng.choice([event for event in names if event != name and {event, name} != {"swell", "grow"}])
        if other != "spin" or twin.shows_turning:
            _add_event(twin, replace(referent.events[0], name=other))
    referent.room = twin.room = _wider(referent.room, twin.room)  # else its place would tell who will fall
    actors = [referent, twin]
    others = _others(rng, appearance, actors)
    for actor in others:
        _idle(rng, actor)
        _maybe_event(rng, actor, 0.4)
    place_twins_first(rng, actors, others)
    return Stage(actors + others, Claim(f"{when}_event", name), appearance.attempts(f"{when}_event"), 1)


def _occlusion(rng: Random, appearance: AppearanceSampler) -> Stage:
    """The referent passes behind a wall; its twin, if any, passes in front of it or stays at one side."""
    referent = _sized(rng, appearance, appearance.referent(), "small")
    referent.radius *= rng.uniform(1.0, 1.2)
    upright = rng.random() < 0.5  # whether the wall stands upright and is passed sideways
    outer = OUTER_RADIUS * referent.reach * referent.radius
    half_width = outer + rng.uniform(0.045, 0.075)
    half_length = rng.uniform(0.24, 0.36)
    wall = Actor("", appearance.panel_shape, appearance.panel_texture, 1.0, is_occluder=True)
    wall.x, wall.y = rng.uniform(0.44, 0.56), rng.uniform(0.4, 0.6)
    wall.extent = (half_width, half_length) if upright else (half_length, half_width)
    if not upright:
        wall.x, wall.y = wall.y, wall.x
    along = rng.choice((-1, 1)) * rng.uniform(0.68, 0.74)
    reach = half_length - 1.25 * referent.reach * referent.radius
    crossing = (wall.y if upright else wall.x) + rng.uniform(-reach, reach)
    referent.velocity = (along, 0.0) if upright else (0.0, along)
    referent.x, referent.y = (0.5, crossing) if upright else (crossing, 0.5)
    says_so = rng.random() < 0.5
    twins = [appearance.twin(referent, exact=True)] if says_so else []
    is_in_front = rng.random() < 0.5
    for twin in twins:
        edge = referent.radius + 0.02
        if is_in_front:
            twin.is_in_front = True
            twin.velocity = (-referent.velocity[0], -referent.velocity[1])
            across = rng.uniform(edge, 1 - edge)
            twin.x, twin.y = (0.5, across) if upright else (across, 0.5)
        else:
            twin.velocity = (0.0, 0.0)
            place(rng, [twin], [])
    actors = [referent, *twins]
    others = _others(rng, appearance, actors, fewer=1)
    for actor in others:
        _idle(rng, actor)
        actor.is_in_front = rng.random() < 0.5
    place(rng, others, [] if is_in_front else twins)
    return Stage(
        [*actors, *others, wall],
        Claim("occlusion", "hidden") if says_so else None,
        appearance.attempts("occlusion"),
        len(twins),
    )


_STAGES: dict[str, Callable[[Random, AppearanceSampler], Stage]] = {
    "appearance": _appearance,
    "size": _size,
    "position": _position,
    "relation": _relation,
    "motion": _motion,
    "early_event": _early_event,
    "late_event": _late_event,
    "occlusion": _occlusion,
}
