"""What people are by what they are on or hold, and whose a thing is: somebody on a surfboard is a surfer."""

from collections.abc import Iterable, Mapping, Sequence
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
CARRIED = ("backpack", "handbag", "umbrella", "suitcase")  # which make nobody anything
_LEAST_SHARED = 0.3  # of the smaller of the two boxes
_LEAST_CARRIED = 0.7


def with_roles(things: Sequence[Shown]) -> tuple[Shown, ...]:
    """The things of a photograph with its people called by what they do, where one thing beside them tells it."""
    named = [(thing.noun, thing.box) for thing in things]
    roles = [role_of(thing.box, named) if thing.noun == "person" else "" for thing in things]
    return tuple(
        replace(thing, noun=role, broader=("person",)) if role else thing
        for thing, role in zip(things, roles, strict=True)
    )


def role_of(person: Box, named: Iterable[tuple[str, Box]]) -> str:
    """What somebody in the box `person` is by the things of a picture; "" where they tell nothing, or two things."""
    found = {_role(person, noun, box) for noun, box in named} - {""}
    return found.pop() if len(found) == 1 else ""


def owners(things: Sequence[Shown], place: int) -> tuple[int, ...]:
    """The places of the people who ride, hold or carry the thing at a place; none, too, where it is no such thing."""
    thing = things[place]
    return tuple(other for other, person in enumerate(things) if _has(person, thing))


def is_somebody(noun: str, broader: Sequence[str]) -> bool:
    """Whether a thing of this noun, of which the broader ones are true too, is a person."""
    return "person" in (noun, *broader)


def _has(person: Shown, thing: Shown) -> bool:
    if not is_somebody(person.noun, person.broader):
        return False
    if thing.noun in CARRIED:
        return _shared(person.box, thing.box) >= _LEAST_CARRIED
    return bool(_role(person.box, thing.noun, thing.box))


def _role(person: Box, noun: str, box: Box) -> str:
    if noun in HELD and _shared(person, box) >= _LEAST_SHARED:
        return HELD[noun]
    left, _, right, bottom = box
    is_above = left < (person[0] + person[2]) / 2 < right and person[3] < bottom + 0.02
    if noun in RIDDEN and is_above and _shared(person, box) >= _LEAST_SHARED:
        return RIDDEN[noun]
    return ""


def _shared(one: Box, other: Box) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return max(width, 0.0) * max(height, 0.0) / max(smaller, 1e-9)
