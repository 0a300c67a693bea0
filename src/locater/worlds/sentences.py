"""Finds descriptions that mean exactly one object of a scene, or none at all, each checked by `claims.judge`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from locater.worlds.claims import (
    BIG_RADIUS,
    EARLY_EVENTS,
    LATE_EVENTS,
    MOTIONS,
    POSITIONS,
    RELATIONS,
    SMALL_RADIUS,
    Claim,
    Description,
    Looks,
    is_absent,
    is_unique,
    judge,
)
from locater.worlds.scene_objects import SceneObjects

# Which of an object's looks are said: noun, class (a broader noun, where there is one), colour, texture, size.
Attributes = tuple[str, ...]
CLAIM_NAMES: dict[str, tuple[str, ...]] = {
    "size": ("largest", "smallest"),
    "position": POSITIONS,
    "relation": (*RELATIONS, "next_to"),
    "motion": MOTIONS,
    "early_event": EARLY_EVENTS,
    "late_event": LATE_EVENTS,
    "occlusion": ("hidden",),
}


def looks_of(objects: SceneObjects, index: int, attributes: Attributes) -> Looks:
    """The named attributes of one object."""
    size = ""
    if "size" in attributes:
        radii = objects.radii[index]
        size = "big" if radii.min() >= BIG_RADIUS else "small" if radii.max() <= SMALL_RADIUS else ""
    noun = objects.nouns[index] if "noun" in attributes or "class" in attributes else ""
    if "class" in attributes and objects.broader and objects.broader[index]:
        noun = objects.broader[index][0]
    return Looks(
        noun=noun,
        colour=objects.colours[index] if "colour" in attributes else "",
        texture=objects.textures[index] if "texture" in attributes else "",
        size=size,
    )


def unique_description(
    objects: SceneObjects, index: int, claim: Claim | None, attempts: Iterable[Attributes]
) -> Description | None:
    """The first of the attempts that means object `index` and no other; None when none does."""
    for attributes in attempts:
        looks = looks_of(objects, index, attributes)
        if "size" in attributes and not looks.size:
            continue
        description = Description(looks, claim)
        if is_unique(judge(description, objects), index):
            return description
    return None


@dataclass(frozen=True)
class Alternatives:
    """What an absent sentence may say in place of the truth."""

    nouns: Sequence[str]
    colours: Sequence[str]
    textures: Sequence[str]
    is_allowed: Callable[[str, str], bool]  # (colour, noun), either of them "" when unsaid


def absent_description(
    rng: Random, objects: SceneObjects, base: Description, alternatives: Alternatives, change_claim: bool
) -> Description | None:
    """The base with one thing changed so that it is clearly true of no object; None when no change does that."""
    changed = list(_other_claims(base) if change_claim else _other_looks(base, alternatives))
    rng.shuffle(changed)
    if rng.random() < 0.7:  # hard negatives first: words that are true of something in the picture
        present = {*objects.nouns, *objects.colours}
        changed.sort(key=lambda other: not {other.looks.noun, other.looks.colour} - {""} <= present)
    for description in changed:
        looks = description.looks
        if alternatives.is_allowed(looks.colour, looks.noun) and is_absent(judge(description, objects)):
            return description
    return None


def true_descriptions(
    objects: SceneObjects, index: int, topic: str, attempts: Sequence[Attributes]
) -> Iterator[Description]:
    """Descriptions of one object with a claim on `topic`, each of them unique."""
    for name in CLAIM_NAMES[topic]:
        for anchor in _anchors(objects, index) if topic == "relation" else (Looks(),):
            claim = Claim(topic, name, anchor)
            if topic == "occlusion" and not objects.occluder:
                continue
            description = unique_description(objects, index, claim, attempts)
            if description is not None:
                yield description


def _anchors(objects: SceneObjects, index: int) -> Iterator[Looks]:
    for other in range(len(objects)):
        if other != index:
            description = unique_description(objects, other, None, (("noun",), ("noun", "colour")))
            if description is not None:
                yield description.looks


def _other_looks(base: Description, alternatives: Alternatives) -> Iterator[Description]:
    looks = base.looks
    if looks.noun:
        yield from (replace(base, looks=replace(looks, noun=noun)) for noun in alternatives.nouns)
    if looks.colour:
        yield from (replace(base, looks=replace(looks, colour=colour)) for colour in alternatives.colours)
    if looks.texture:
        yield from (replace(base, looks=replace(looks, texture=texture)) for texture in alternatives.textures)
    if looks.size:
        yield replace(base, looks=replace(looks, size="small" if looks.size == "big" else "big"))


def _other_claims(base: Description) -> Iterator[Description]:
    claim = base.claim
    if claim is None or claim.topic in ("occlusion", "size"):
        return
    for name in CLAIM_NAMES[claim.topic]:
        if name != claim.name:
            yield replace(base, claim=replace(claim, name=name))
    other_time = {"early_event": "late_event", "late_event": "early_event"}.get(claim.topic)
    if other_time and claim.name in CLAIM_NAMES[other_time]:
        yield replace(base, claim=replace(claim, topic=other_time))
