"""One seed's scene: cut-outs over a photograph, over time, and a checked sentence."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from locater.errors import LocaterError
from locater.worlds.claims import Description
from locater.worlds.composed.pack.colours import COLOURS
from locater.worlds.composed.pack.nouns import is_person
from locater.worlds.composed.pack.pack import CutOutEntry, Pack
from locater.worlds.composed.pack.photographs import Shown
from locater.worlds.composed.scene.appearance import CutoutAppearanceSampler
from locater.worlds.composed.scene.compositing import Compositing, draw_compositing
from locater.worlds.composed.scene.counted_pictures import counted_pictures
from locater.worlds.composed.scene.cutout_pool import CutoutPool
from locater.worlds.composed.scene.distractor_phrases import CLOTHED, IDLE_ADJECTIVES, distractor_phrases_for
from locater.worlds.composed.scene.dyes import DYES, in_dye, maybe_dye
from locater.worlds.composed.scene.view import View, draw_camera, draw_view, thing_actors
from locater.worlds.composed.scene.ways import more_words
from locater.worlds.describing import DescribedScene, can_be_seen, describe, drawing_order, make_scene_objects
from locater.worlds.grammar import Lexicon, say
from locater.worlds.motion import OCCLUDER, Actor, poses
from locater.worlds.placing import CrowdedError
from locater.worlds.scene_objects import Array, SceneObjects
from locater.worlds.seeds import KINDS, parts_of_seed
from locater.worlds.sentences import Alternatives, absent_description, true_descriptions, unique_description
from locater.worlds.staging import Stage, stage

LEAST_FRAMES = 12
MOST_DRAWS = 600
# How many of a kind's scenes ask about a thing of the photograph, which has its own light, edges and surroundings. It
# stays where it is, so hardly ever about motion ...
THING_SHARES = {"appearance": 0.65, "size": 0.5, "position": 0.5, "relation": 0.5, "motion": 0.15}
THING_DRAWS = 60  # ... unless so many draws give no sentence on a photograph's own things
DECIDED_AMONG_RIVALS = ("position", "size")  # mostly about one of several of a noun: else the noun alone would do
# What a sentence on what is not there is made from: mostly a noun alone, as people ask.
ABSENT_KINDS = (KINDS[:-1], [4 if kind == "appearance" else 1 for kind in KINDS[:-1]])
COLOUR_SHARE = 0.3  # of sentences on what is not there may differ in a colour alone
ALONE_SHARE = 0.5  # of the scenes about a photograph's own thing, nothing else is laid over the photograph


@dataclass(frozen=True)
class Scene(DescribedScene):
    """Cut-outs over a photograph without their pixels; of the actors, the photograph's own things come first."""

    view: View
    camera: Array  # (F, 2)
    compositing: Compositing

    @property
    def thing_count(self) -> int:
        """How many of the actors are the photograph's own."""
        return len(self.view.things)


@dataclass(frozen=True)
class _Play:
    """A draw that may become a scene."""

    view: View
    staged: Stage
    actors: tuple[Actor, ...]
    order: tuple[int, ...]  # for each cut-out its place in the stage
    ground: Array  # (N, F, 5) without camera
    camera: Array
    objects: SceneObjects
    referent: int  # among the actors
    is_about_thing: bool


class SceneSampler:
    """Makes the scenes of a pack, each from its seed alone."""

    def __init__(self, pack: Pack, kin_share: float = 0.0) -> None:
        """`kin_share`: how many of the sentences on what is not there name near kin of something that is."""
        self.pack = pack
        self.kin_share = kin_share
        self._pools: dict[str, CutoutPool] = {}
        nouns = pack.nouns.said()
        self.lexicon = Lexicon(
            nouns=nouns,
            occluders={OCCLUDER: ("wall", "panel", "board")},
            colours=COLOURS,
            textures={},
            distractor_phrases={
                noun: distractor_phrases_for(noun, broader) for noun, broader in pack.nouns.broader.items()
            },
            clothed={noun: CLOTHED for noun in pack.nouns.broader if is_person(noun)},
            idle_adjectives=IDLE_ADJECTIVES,
            pictures=counted_pictures(pack),
            more_words=more_words(said for ways in nouns.values() for said in ways),
        )

    def scene(self, seed: int, frame_count: int = 32, frames_per_second: float = 8.0) -> Scene:
        """The scene of a seed, the same at every call."""
        split, kind, _ = parts_of_seed(seed)
        if frame_count < LEAST_FRAMES:
            raise LocaterError(
                f"a video of {frame_count} frames is too short for events; choose at least {LEAST_FRAMES}."
            )
        rng = Random(seed)
        wish = 1.0 if split == "heldout" else rng.random()
        for draw in range(MOST_DRAWS):
            base_kind = rng.choices(*ABSENT_KINDS)[0] if kind == "absent" else kind
            is_about_thing = wish < THING_SHARES.get(base_kind, 0.0) and draw < THING_DRAWS
            play = self._play(rng, split, base_kind, frame_count, is_about_thing)
            if play is None:
                continue
            description = self._describe(rng, play, base_kind)
            if description is not None and kind == "absent":
                description = self._absent(rng, play.objects, description, split, change_claim=rng.random() < 0.5)
            if description is None:
                continue
            ground = play.ground.copy()
            ground[..., :2] += play.camera
            first = len(play.view.things)
            twins = range(1, 1 + play.staged.twin_count)
            return Scene(
                seed=seed,
                split=split,
                kind=kind,
                frame_count=frame_count,
                frames_per_second=frames_per_second,
                view=play.view,
                actors=play.actors,
                poses=ground.astype(np.float32),
                camera=play.camera,
                compositing=draw_compositing(rng, self.pack, play.view, play.actors, frame_count),
                objects=play.objects,
                description=description,
                expression=say(description, rng, self.lexicon, play.objects.occluder),
                referent=None if kind == "absent" else play.referent,
                twins=tuple(first + place for place, old in enumerate(play.order) if old in twins),
            )
        raise LocaterError(
            f"The pack {self.pack.folder} gave no scene for '{kind}' in its split {split}; put more classes into it."
        )

    def _play(self, rng: Random, split: str, kind: str, frame_count: int, is_about_thing: bool) -> _Play | None:
        pool = self._pool(split)
        photographs = pool.photographs
        has_rivals = is_about_thing and kind in DECIDED_AMONG_RIVALS
        chosen = photographs.one_with_a_thing(rng, has_rivals) if is_about_thing else (photographs.any_one(rng), "")
        if chosen is None:
            return None
        number, noun = chosen
        view = draw_view(rng, number, self.pack.photographs[number], is_wide=has_rivals)
        things = [in_dye(thing, maybe_dye(rng)) for thing in thing_actors(view)]
        fitting = [place for place, shown in enumerate(view.things) if shown.noun == noun]
        if is_about_thing and not fitting:
            return None
        thing = rng.choice(fitting) if is_about_thing else 0
        appearance = CutoutAppearanceSampler(
            rng, pool, things[thing].noun if is_about_thing else "", kind == "occlusion"
        )
        try:
            # What is asked about is in the photograph: whatever moves over it only must not hide it.
            staged = stage("appearance" if is_about_thing else kind, rng, appearance)
        except CrowdedError:
            return None
        if is_about_thing and rng.random() < ALONE_SHARE:
            staged = Stage([])
        order = drawing_order(rng, staged.actors)
        actors = (*things, *(staged.actors[index] for index in order))
        ground = poses(actors, frame_count)
        camera = draw_camera(rng, frame_count)
        objects = self.objects_of(actors, ground, camera, view)
        referent = thing if is_about_thing else len(things) + order.index(0)
        members = [index for index, actor in enumerate(actors) if not actor.is_occluder]
        if not can_be_seen(objects, members.index(referent), staged, "" if is_about_thing else kind):
            return None
        return _Play(view, staged, actors, tuple(order), ground, camera, objects, referent, is_about_thing)

    def _pool(self, split: str) -> CutoutPool:
        if split not in self._pools:
            self._pools[split] = CutoutPool(self.pack, split)
        return self._pools[split]

    def objects_of(self, actors: tuple[Actor, ...], ground: Array, camera: Array, view: View) -> SceneObjects:
        """The actors as sentences see them, and one vague member per noun of what else the photograph shows."""
        nouns = self.pack.nouns
        objects = make_scene_objects(actors, ground, camera)
        broader, doubtful = [], []
        for index, actor in enumerate(actors):
            if actor.is_occluder:
                continue
            entry = view.things[index] if index < len(view.things) else self.pack.cutouts[actor.picture]
            broader.append(entry.broader)
            doubtful.append(nouns.doubtful(actor.noun) | _doubtful_colours(actor, entry))
        count, frame_count = len(view.vague), ground.shape[1]
        for noun in view.vague:
            broader.append(nouns.broader.get(noun, ()))
            doubtful.append(nouns.doubtful(noun) | frozenset(COLOURS))
        return replace(
            objects,
            nouns=(*objects.nouns, *view.vague),
            colours=objects.colours + ("",) * count,
            textures=objects.textures + ("",) * count,
            centres=np.concatenate([objects.centres, np.full((count, frame_count, 2), 0.5) + camera]),
            radii=np.concatenate([objects.radii, np.full((count, frame_count), 0.1)]),
            angles=np.concatenate([objects.angles, np.zeros((count, frame_count))]),
            covered=np.concatenate([objects.covered, np.zeros((count, frame_count))]),
            visibility=np.concatenate([objects.visibility, np.ones((count, frame_count))]),
            events=objects.events + ((),) * count,
            broader=tuple(broader),
            doubtful=tuple(doubtful),
            is_vague=(False,) * len(objects) + (True,) * count,
            sides_are_relative=True,
        )

    def _describe(self, rng: Random, play: _Play, kind: str) -> Description | None:
        members = [index for index, actor in enumerate(play.actors) if not actor.is_occluder]
        member = members.index(play.referent)
        if not play.is_about_thing:
            return describe(play.objects, member, play.staged)
        attempts = CutoutAppearanceSampler(rng, next(iter(self._pools.values()))).attempts(kind)
        attempts = [attributes for attributes in attempts if attributes]
        if kind == "appearance":
            return unique_description(play.objects, member, None, attempts)
        found: Iterable[Description] = true_descriptions(play.objects, member, kind, attempts)
        choices = list(found)
        return rng.choice(choices) if choices else None

    def nobody(self, scene: Scene, rng: Random) -> Description | None:
        """A description like the scene's own that is true of nothing in it; None where none is found."""
        has_claim = scene.description.claim is not None
        change_claim = has_claim and rng.random() < 0.5
        return self._absent(rng, scene.objects, scene.description, scene.split, change_claim)

    def _absent(
        self, rng: Random, objects: SceneObjects, description: Description, split: str, change_claim: bool
    ) -> Description | None:
        pool = self._pool(split)
        if self.kin_share and rng.random() < self.kin_share:
            kin = Alternatives(self._kin(rng, objects, description, split), (), (), lambda _colour, _noun: True)
            found = absent_description(rng, objects, description, kin, change_claim=False)
            if found is not None:
                return found
        nouns = [*pool.names(rng, 4), *pool.names_akin(rng, description.looks.noun, 4), *objects.nouns]
        known = [noun for noun in dict.fromkeys(nouns) if noun in self.lexicon.nouns]
        # Seldom by colour: which colours a real thing has is a matter of opinion.
        colours = CutoutAppearanceSampler(rng, pool).colours(8) if rng.random() < COLOUR_SHARE else []
        alternatives = Alternatives(known, colours, (), lambda _colour, _noun: True)
        return absent_description(rng, objects, description, alternatives, change_claim)

    def _kin(self, rng: Random, objects: SceneObjects, description: Description, split: str) -> list[str]:
        """Nouns of things like the one described or, where it has no kin, like others in the scene."""
        pool = self._pool(split)
        own = pool.names_akin(rng, description.looks.noun, 6)
        others = [noun for each in objects.nouns for noun in pool.names_akin(rng, each, 1)]
        return [noun for noun in dict.fromkeys(own or others) if noun in self.lexicon.nouns]


def _doubtful_colours(actor: Actor, entry: CutOutEntry | Shown) -> frozenset[str]:
    """The colours that may or may not be said of an actor."""
    own = frozenset(entry.doubtful_colours)
    if actor.dye < 0:
        return own
    # Only what a person wears is dyed.
    rest = own | {entry.colour} - {""} if is_person(actor.noun) else frozenset[str]()
    return (rest | DYES[actor.dye].doubtful) - {actor.colour}
