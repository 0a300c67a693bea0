"""How the cut-outs of a scene look: which they are, and sometimes in another colour than their own."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from locater.worlds.composed.pack.pack import CutOutEntry
from locater.worlds.composed.scene.classes import group_of
from locater.worlds.composed.scene.cutout_pool import CutoutPool
from locater.worlds.composed.scene.dyes import DYE_WORDS, DYES, draw_dye, in_dye, maybe_dye
from locater.worlds.motion import Actor
from locater.worlds.sentences import Attributes

COMPACT_REACH = 1.15
RADII: Mapping[str, tuple[float, float]] = {"small": (0.08, 0.11), "medium": (0.14, 0.18), "large": (0.22, 0.28)}


class CutoutAppearanceSampler:
    """Draws the looks of a scene's cut-outs; a `staging.AppearanceSampler`."""

    radii = RADII
    growing_radii = (0.09, 1.85)
    crowd = (1, 4)
    least_others = 0
    superlative_share = 1.0  # whether a dog is large depends on how far away it is
    panel_shape = "panel"
    panel_texture = ""

    def __init__(self, rng: Random, pool: CutoutPool, lure: str = "", is_compact: bool = False) -> None:
        """`lure`: a noun that referents often have; `is_compact`: they are seldom long, for a wall to hide."""
        self._rng = rng
        self._pool = pool
        self._lure = lure
        self._is_compact = is_compact

    def referent(self, turns: bool = False) -> Actor:  # noqa: ARG002
        """A cut-out without its size; the turning of any of them can be seen."""
        rng, pool = self._rng, self._pool
        if self._lure in pool.by_noun and rng.random() < 0.5:
            return self._dressed(rng.choice(pool.by_noun[self._lure]), maybe_dye(rng))
        number = pool.stars.one(rng)
        for _ in range(8 if self._is_compact else 0):
            if pool.pack.cutouts[number].reach < COMPACT_REACH:
                break
            number = pool.stars.one(rng)
        return self._dressed(number, maybe_dye(rng))

    def other(self, referent: Actor) -> Actor:
        """Another cut-out: often of the same class or the same colour."""
        rng, pool = self._rng, self._pool
        entry = pool.pack.cutouts[referent.picture]
        sharing = rng.random()
        if sharing < 0.3 and referent.dye >= 0:
            others = DYE_WORDS - {referent.colour} - DYES[referent.dye].doubtful
            return self._dressed(rng.choice(pool.by_group[group_of(entry)]), draw_dye(rng, others))
        if sharing < 0.3 and entry.colour:
            choices = [n for n in pool.by_group[group_of(entry)] if self._is_other_colour(n, entry)]
            if choices:
                return self._dressed(rng.choice(choices))
        if sharing < 0.55 and referent.dye >= 0:
            return self._dressed(pool.everyone.one(rng), draw_dye(rng, frozenset((referent.colour,))))
        if sharing < 0.55 and entry.colour:
            return self._dressed(rng.choice(pool.by_colour[entry.colour]))
        return self._dressed(pool.everyone.one(rng), maybe_dye(rng))

    def twin(self, actor: Actor, exact: bool) -> Actor:
        """The same cut-out, perhaps mirrored; or, when not exact, half the time another one with the same noun."""
        rng = self._rng
        same = replace(actor, events=list(actor.events), is_mirrored=rng.random() < 0.5)
        others = [n for n in self._pool.by_noun[actor.shape] if n != actor.picture]
        if exact or not others or rng.random() < 0.5:
            return same
        dressed = self._dressed(rng.choice(others), maybe_dye(rng))
        return replace(same, picture=dressed.picture, colour=dressed.colour, reach=dressed.reach, dye=dressed.dye)

    def attempts(self, topic: str) -> list[Attributes]:
        """Attributes to say: mostly a bare noun where a claim decides; no noun only where a still photograph cannot."""
        rng = self._rng
        rest: list[Attributes] = [("class",), ("noun",), ("class", "colour"), ("noun", "colour")]
        if topic in ("motion", "early_event", "late_event") and rng.random() < 0.12:
            return [(), *rest]
        if topic == "appearance":
            return [rng.choice(rest), *rest]
        first = rng.choices(rest, (0.5, 0.25, 0.15, 0.1))[0]
        return [first, *rest]

    def colours(self, count: int) -> list[str]:
        """Colours of so many cut-outs, as often as they appear; fewer where some have none."""
        rng, pool = self._rng, self._pool
        drawn = [self._dressed(pool.everyone.one(rng), maybe_dye(rng)) for _ in range(count)]
        return [actor.colour for actor in drawn if actor.colour]

    def _is_other_colour(self, number: int, entry: CutOutEntry) -> bool:
        other = self._pool.pack.cutouts[number]
        return bool(other.colour) and entry.colour not in (other.colour, *other.doubtful_colours)

    def _dressed(self, number: int, dye: int = -1) -> Actor:
        entry = self._pool.pack.cutouts[number]
        mirrored = self._rng.random() < 0.5
        plain = Actor(entry.colour, entry.noun, "", 0.0, reach=entry.reach, picture=number, is_mirrored=mirrored)
        return in_dye(plain, dye)
