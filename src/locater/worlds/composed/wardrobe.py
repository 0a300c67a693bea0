"""Who can appear in a split's scenes, drawn so that neither common classes nor the many sprites crowd out the rest."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from random import Random

from locater.errors import LocaterError
from locater.worlds.composed.kinds import BROADEST
from locater.worlds.composed.pack import CutOutEntry, Pack
from locater.worlds.composed.photographs import Shown
from locater.worlds.motion import Actor
from locater.worlds.sentences import Attributes

SPRITE_SHARE = 0.15
COMPACT_REACH = 1.15
RADII: Mapping[str, tuple[float, float]] = {"small": (0.08, 0.11), "medium": (0.14, 0.18), "large": (0.22, 0.28)}


class Company:
    """The cut-outs of one split, by what they are and by their colour."""

    def __init__(self, pack: Pack, split: str) -> None:
        self.pack = pack
        if split == "heldout" and not pack.held_out:
            raise LocaterError(f"The pack {pack.folder} holds no class out; make one with --hold-out, or choose test.")
        # Held-out classes act beside cut-outs that are as new as they are.
        splits = ("heldout", "test") if split == "heldout" else (split,)
        numbers = [number for number, entry in enumerate(pack.cutouts) if entry.split in splits]
        stars = [number for number in numbers if pack.cutouts[number].split == split]
        if not stars:
            raise LocaterError(f"The pack {pack.folder} has no cut-outs in its split {split}; put more into it.")
        self.stars = _Draw(pack, stars)
        self.everyone = _Draw(pack, numbers)
        self.by_group: dict[str, list[int]] = defaultdict(list)
        self.by_noun: dict[str, list[int]] = defaultdict(list)
        self.by_colour: dict[str, list[int]] = defaultdict(list)
        self._akin: dict[str, Sequence[str]] = {}  # found when first asked for: every scene asks
        for number in numbers:
            entry = pack.cutouts[number]
            self.by_group[group_of(entry)].append(number)
            self.by_noun[entry.noun].append(number)
            if entry.colour:
                self.by_colour[entry.colour].append(number)

    def akin(self, noun: str) -> Sequence[str]:
        """Other nouns of the same kind that somebody in the company is called."""
        if noun not in self._akin:
            known = self.by_noun.keys() | self.by_group.keys()
            self._akin[noun] = [other for other in self.pack.nouns.akin(noun) if other in known]
        return self._akin[noun]


class ByClass:
    """Numbers by class and, in it, by noun; many of one class or noun are drawn less often than in proportion."""

    def __init__(self, named: Iterable[tuple[int, CutOutEntry | Shown]]) -> None:
        groups: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for number, entry in named:
            groups[group_of(entry)][entry.noun].append(number)
        self._groups = [(list(nouns.items()), _heaped(map(len, nouns.values()))) for nouns in groups.values()]
        self._weights = _heaped(sum(map(len, nouns.values())) for nouns in groups.values())

    def __len__(self) -> int:
        return len(self._groups)

    def one(self, rng: Random) -> tuple[int, str]:
        """A number and its noun."""
        nouns, weights = rng.choices(self._groups, cum_weights=self._weights)[0]
        noun, numbers = rng.choices(nouns, cum_weights=weights)[0]
        return rng.choice(numbers), noun


def _heaped(counts: Iterable[int]) -> list[float]:
    """Sums of the counts' square roots, one after another, as `Random.choices` takes weights."""
    return list(accumulate(map(math.sqrt, counts)))


class _Draw:
    """Draws a cut-out: sprite or photograph, then a class, then a noun, then one of it."""

    def __init__(self, pack: Pack, numbers: Sequence[int]) -> None:
        self._sprites = [number for number in numbers if pack.cutouts[number].is_sprite]
        self._others = ByClass((n, pack.cutouts[n]) for n in numbers if not pack.cutouts[n].is_sprite)

    def one(self, rng: Random) -> int:
        """A cut-out's number."""
        if self._sprites and (not self._others or rng.random() < SPRITE_SHARE):
            return rng.choice(self._sprites)
        return self._others.one(rng)[0]


def group_of(entry: CutOutEntry | Shown) -> str:
    """The class that words divide things into: a beagle is a dog, a dog is no animal among others."""
    return entry.broader[0] if entry.broader and entry.broader[0] not in BROADEST else entry.noun


class CutOutWardrobe:
    """Draws the looks of a scene's cut-outs; a `staging.Wardrobe`."""

    radii = RADII
    growing_radii = (0.09, 1.85)
    crowd = (1, 4)
    least_others = 0
    superlative_share = 1.0  # whether a dog is large depends on how far away it is
    panel_shape = "panel"
    panel_texture = ""

    def __init__(self, rng: Random, company: Company, lure: str = "", is_compact: bool = False) -> None:
        """`lure`: a noun that referents often have; `is_compact`: they are seldom long, for a wall to hide."""
        self._rng = rng
        self._company = company
        self._lure = lure
        self._is_compact = is_compact

    def referent(self, turns: bool = False) -> Actor:  # noqa: ARG002
        """A cut-out without its size; the turning of any of them can be seen."""
        rng, company = self._rng, self._company
        if self._lure in company.by_noun and rng.random() < 0.5:
            return self._dressed(rng.choice(company.by_noun[self._lure]))
        number = company.stars.one(rng)
        for _ in range(8 if self._is_compact else 0):
            if company.pack.cutouts[number].reach < COMPACT_REACH:
                break
            number = company.stars.one(rng)
        return self._dressed(number)

    def other(self, referent: Actor) -> Actor:
        """Another cut-out: often of the same class or the same colour."""
        rng, company = self._rng, self._company
        entry = company.pack.cutouts[referent.picture]
        sharing = rng.random()
        if sharing < 0.3 and entry.colour:
            choices = [n for n in company.by_group[group_of(entry)] if self._is_other_colour(n, entry)]
            if choices:
                return self._dressed(rng.choice(choices))
        if sharing < 0.55 and entry.colour:
            return self._dressed(rng.choice(company.by_colour[entry.colour]))
        return self._dressed(company.everyone.one(rng))

    def twin(self, actor: Actor, exact: bool) -> Actor:
        """The same cut-out, perhaps mirrored; or, when not exact, half the time another one with the same noun."""
        rng = self._rng
        same = replace(actor, events=list(actor.events), is_mirrored=rng.random() < 0.5)
        others = [n for n in self._company.by_noun[actor.shape] if n != actor.picture]
        if exact or not others or rng.random() < 0.5:
            return same
        dressed = self._dressed(rng.choice(others))
        return replace(same, picture=dressed.picture, colour=dressed.colour, reach=dressed.reach)

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

    def nouns(self, count: int) -> list[str]:
        """Nouns as often as they appear, for sentences on what is not there."""
        entries = [self._company.pack.cutouts[self._company.everyone.one(self._rng)] for _ in range(count)]
        return [entry.noun if self._rng.random() < 0.4 else group_of(entry) for entry in entries]

    def _is_other_colour(self, number: int, entry: CutOutEntry) -> bool:
        other = self._company.pack.cutouts[number]
        return bool(other.colour) and entry.colour not in (other.colour, *other.doubtful_colours)

    def _dressed(self, number: int) -> Actor:
        entry = self._company.pack.cutouts[number]
        mirrored = self._rng.random() < 0.5
        return Actor(entry.colour, entry.noun, "", 0.0, reach=entry.reach, picture=number, is_mirrored=mirrored)
