"""Further questions to a scene that mean other objects: one picture, other words, another answer."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

from locater.worlds.claims import Claim, Description, is_unique, judge, judge_looks
from locater.worlds.describing import DescribedScene
from locater.worlds.grammar import Lexicon, say
from locater.worlds.scene_objects import SceneObjects
from locater.worlds.sentences import CLAIM_NAMES, Attributes, looks_of, unique_description

NOBODY_SHARE = 0.7  # of further questions where nothing else can be meant
MOST_TRIES = 12  # of claims on one object: what is not found by then costs more than a scene of its own


def questions_to(
    scene: DescribedScene,
    count: int,
    lexicon: Lexicon,
    nobody: Callable[[Random], Description | None] = lambda _: None,
) -> list[tuple[str, int | None]]:
    """`count` sentences on a scene, each with the actor it means: its own, then others of others.

    Where there are no others, mostly one that `nobody` gives, true of none; else its own in other words.
    """
    found = [(scene.expression, scene.referent)]
    if count == 1:
        return found
    rng = Random(scene.seed + 2)

    def said(description: Description) -> str:
        return say(description, rng, lexicon, scene.objects.occluder)

    for description, member in islice(_others(scene, rng), count - 1):
        found.append((said(description), scene.actor_of_member[member]))
    while len(found) < count:
        wants_nobody = scene.referent is not None and rng.random() < NOBODY_SHARE
        description_of_none = nobody(rng) if wants_nobody else None
        if description_of_none is None:
            found.append((said(scene.description), scene.referent))
        else:
            found.append((said(description_of_none), None))
    return found


def _others(scene: DescribedScene, rng: Random) -> Iterator[tuple[Description, int]]:
    """Descriptions of other members, like the scene's own where one is true: look-alikes first."""
    objects, given = scene.objects, scene.description
    members = range(len(scene.actor_of_member))
    meant = None if scene.referent is None else scene.actor_of_member.index(scene.referent)
    is_alike = judge_looks(given.looks, objects) >= 0
    rest = [member for member in members if member != meant]
    rng.shuffle(rest)
    for member in sorted(rest, key=lambda member: not is_alike[member]):
        description = _like(objects, member, given, rng)
        if description is not None:
            yield description, member


def _like(objects: SceneObjects, member: int, given: Description, rng: Random) -> Description | None:
    """A description of the member in the words of the given one, its claim another; else by its looks alone."""
    said: Attributes = tuple(name for name in ("noun", "colour", "texture", "size") if getattr(given.looks, name))
    if given.claim is not None:
        looks = looks_of(objects, member, tuple(name for name in said if name != "size"))
        names: Sequence[str] = rng.sample(CLAIM_NAMES[given.claim.topic], len(CLAIM_NAMES[given.claim.topic]))
        for name in names[:MOST_TRIES]:
            description = Description(looks, Claim(given.claim.topic, name, given.claim.anchor))
            if is_unique(judge(description, objects), member):
                return description
    return unique_description(objects, member, None, [said, ("noun", "colour"), ("noun", "colour", "texture")])
