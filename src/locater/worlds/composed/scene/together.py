"""Questions that mean several things as one: somebody with what is ridden or carried, and all there are of a noun.

"The man on a horse" means both of them, as the masks of DAVIS do; "the man" and "the horse" mean one each. Where
what is said to be ridden is not there, nothing is meant: the man alone is not enough.
"""

from collections.abc import Sequence
from random import Random

from locater.text.plurals import plural
from locater.worlds.claims import Description, Looks, is_absent, is_unique, judge
from locater.worlds.composed.pack.nouns import ROLES
from locater.worlds.composed.pack.roles import HELD, RIDDEN, is_somebody, owners
from locater.worlds.composed.scene.scene import Scene
from locater.worlds.composed.scene.ways import ADVERBS, NUMBERS, WAYS
from locater.worlds.grammar import Lexicon
from locater.worlds.scene_objects import SceneObjects

Meant = tuple[str, tuple[int, ...]]  # a sentence, and the actors that it means; none: nothing is meant

_PAIR_SHARE = 0.8  # of the scenes with such a pair are asked about it
_NOT_THERE_SHARE = 0.3  # of these questions name something else that is ridden or carried
_LONELY_SHARE = 0.025  # of the scenes with people that are not asked about a pair: something that is nowhere
_ALL_SHARE = 0.08  # of the scenes with several of a noun are asked for all of them
_MOST_OF_A_NOUN = 4
_SEEN = 0.5  # of each of them, on average
_COLOUR_SHARE = 0.3


def together(scene: Scene, rng: Random, lexicon: Lexicon) -> Meant | None:
    """A question to a scene that means several of its actors at once, or none of them; mostly there is none to ask."""
    pair = _pair(scene, rng)
    if pair is not None and rng.random() < _PAIR_SHARE:
        people, thing = pair
        noun = scene.actors[thing].noun
        if rng.random() >= _NOT_THERE_SHARE:
            return _said(scene, rng, lexicon, people, noun, thing), (*people, thing)
    elif not _has_people(scene.objects) or rng.random() >= _LONELY_SHARE:
        return _all_of_a_noun(scene, rng, lexicon)
    absent = [noun for noun in WAYS if noun in lexicon.nouns and _is_nowhere(noun, scene.objects)]
    return (_said(scene, rng, lexicon, (-1,), rng.choice(absent), None), ()) if absent else None


def _pair(scene: Scene, rng: Random) -> tuple[tuple[int, ...], int] | None:
    """The people who are on, or have, the only thing of its noun in the scene, and that thing."""
    found = []
    things = scene.view.things
    for place, thing in enumerate(things):
        people = owners(things, place)
        if not 0 < len(people) <= (2 if thing.noun in RIDDEN else 1):
            continue
        if _is_the_only_one(thing.noun, place, people, scene) and _are_seen(scene, (*people, place)):
            found.append((people, place))
    return rng.choice(found) if found else None


def _has_people(objects: SceneObjects) -> bool:
    return any(map(is_somebody, objects.nouns, objects.broader))


def _are_all_people(objects: SceneObjects, people: Sequence[int]) -> bool:
    """Whether there is nobody else, who could be meant as well."""
    return sum(map(is_somebody, objects.nouns, objects.broader)) == len(people)


def _is_the_only_one(noun: str, actor: int, people: Sequence[int], scene: Scene) -> bool:
    verdict = judge(Description(Looks(noun=noun)), scene.objects)
    for person in people:  # a horse rider is no horse, though the word is in his name
        verdict[scene.actor_of_member.index(person)] = -1
    return is_unique(verdict, scene.actor_of_member.index(actor))


def _is_nowhere(noun: str, objects: SceneObjects) -> bool:
    return is_absent(judge(Description(Looks(noun=noun)), objects))


def _are_seen(scene: Scene, actors: Sequence[int]) -> bool:
    seen = scene.objects.visibility.mean(axis=1)
    return all(seen[scene.actor_of_member.index(actor)] >= _SEEN for actor in actors)


def _said(scene: Scene, rng: Random, lexicon: Lexicon, people: Sequence[int], noun: str, thing: int | None) -> str:
    """One of many ways to say who is on, or has, what."""
    way = rng.choice(WAYS[noun])
    what = rng.choice(lexicon.nouns[noun])
    colour = "" if thing is None else scene.actors[thing].colour
    if colour and rng.random() < _COLOUR_SHARE:
        what = f"{rng.choice(lexicon.colours[colour])} {what}"
    a_thing = what if noun == "skis" else f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
    if noun in RIDDEN and rng.random() < 0.25:  # the thing first
        who = "two people on it" if len(people) > 1 else rng.choice(("a rider", "its rider", "a person on it"))
        return f"the {what} {'and' if who == 'its rider' else 'with'} {who}"
    if len(people) > 1:
        who = f"the two {rng.choice(('people', 'people', 'men', 'riders'))}"
    else:
        who = f"the {_somebody(scene, rng, lexicon, people[0], noun if thing is not None else '')}"
    if rng.random() < 0.1 and (thing is None or _are_all_people(scene.objects, people)):
        return f"{who} and the {what}"
    return " ".join(part for part in (who, way, a_thing, rng.choice(ADVERBS) if noun in RIDDEN else "") if part)


def _somebody(scene: Scene, rng: Random, lexicon: Lexicon, actor: int, noun: str) -> str:
    """A word for one of the people, sometimes with the colour of the clothes or by what the thing makes of him."""
    role = {**HELD, **RIDDEN}.get(noun, "")
    if role and rng.random() < 0.25:
        return rng.choice(ROLES[role])
    who = rng.choice(lexicon.nouns.get("person", ("person",)))
    colour = scene.actors[actor].colour if actor >= 0 else ""
    if colour and rng.random() < _COLOUR_SHARE:
        clothes = rng.choice(lexicon.clothed.get("person", ("in {colour}",)))
        return f"{who} {clothes.format(colour=rng.choice(lexicon.colours[colour]))}"
    return who


def _all_of_a_noun(scene: Scene, rng: Random, lexicon: Lexicon) -> Meant | None:
    """All that a noun is true of, where these are several and of nothing else it is doubtful."""
    if rng.random() >= _ALL_SHARE:
        return None
    nouns = list(dict.fromkeys(scene.actors[actor].noun for actor in scene.actor_of_member))
    rng.shuffle(nouns)
    for noun in nouns:
        verdict = judge(Description(Looks(noun=noun)), scene.objects)
        members = [member for member, one in enumerate(verdict) if one == 1]
        many = plural(rng.choice(lexicon.nouns[noun])) if noun in lexicon.nouns else ""
        if not many or not (verdict != 0).all() or not 1 < len(members) <= _MOST_OF_A_NOUN:
            continue
        actors = tuple(scene.actor_of_member[member] for member in members)
        if _are_seen(scene, actors):
            number = NUMBERS[len(actors)]
            ways = (f"the {many}", f"the {many}", f"the {number} {many}", f"all {many}", f"all the {many}", many)
            return rng.choice((*ways, f"both {many}") if len(actors) == 2 else ways), actors
    return None
