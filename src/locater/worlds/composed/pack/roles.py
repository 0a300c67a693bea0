"""What people are by what they are on or hold: somebody on a surfboard is a surfer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from locater.worlds.composed.pack.photographs import Shown

Box = tuple[float, float, float, float]  # left, top, right, bottom

HELD: Mapping[str, str] = {
    "surfboard": "surfer",
    "skis": "skier",
    "snowboard": "snowboarder",
    "skateboard": "skateboarder",
    "tennis racket": "tennis player",
    "baseball bat": "baseball player",
    "baseball glove": "baseball player",
}
RIDDEN: Mapping[str, str] = {"bicycle": "cyclist", "motorcycle": "motorcyclist", "horse": "horse rider"}
_LEAST_SHARED = 0.3  # of the smaller of the two boxes


def with_roles(things: Sequence[Shown]) -> tuple[Shown, ...]:
    """The things of a photograph with its people called by what they do, where one thing beside them tells it."""
    return tuple(replace(thing, noun=role, broader=("person",)) if role else thing for thing, role in _told(things))


def _told(things: Sequence[Shown]) -> list[tuple[Shown, str]]:
    told = []
    for thing in things:
        found = {_role(thing.box, other) for other in things} - {""} if thing.noun == "person" else set()
        told.append((thing, found.pop() if len(found) == 1 else ""))
    return told


def _role(person: Box, other: Shown) -> str:
    """What somebody in the box `person` is by this thing; "" where it tells nothing."""
    if other.noun in HELD and _shared(person, other.box) >= _LEAST_SHARED:
        return HELD[other.noun]
    left, _, right, bottom = other.box
    is_above = left < (person[0] + person[2]) / 2 < right and person[3] < bottom + 0.02
    if other.noun in RIDDEN and is_above and _shared(person, other.box) >= _LEAST_SHARED:
        return RIDDEN[other.noun]
    return ""


def _shared(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return max(width, 0.0) * max(height, 0.0) / max(smaller, 1e-9)
