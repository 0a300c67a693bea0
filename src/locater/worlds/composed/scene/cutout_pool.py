"""Who can appear in a split's scenes, drawn so that neither common classes nor the many sprites crowd out the rest."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate
from random import Random

from locater.errors import LocaterError
from locater.worlds.composed.pack.pack import Pack
from locater.worlds.composed.scene.classes import ByClass, group_of
from locater.worlds.composed.scene.photograph_pool import PhotographPool

SPRITE_SHARE = 0.15
THING_SHARE = 0.5  # about: of what is asked for, a photograph's own thing


class CutoutPool:
    """The cut-outs of one split, by what they are and by their colour, and its photographs."""

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
        photographs = [number for number, entry in enumerate(pack.photographs) if entry.split in splits]
        if not photographs:
            raise LocaterError(f"The pack {pack.folder} has no photographs in its split {split}; add some.")
        self.photographs = PhotographPool(pack, photographs)
        self.stars = _Draw(pack, stars)
        self.everyone = _Draw(pack, numbers)
        self.by_group: dict[str, list[int]] = defaultdict(list)
        self.by_noun: dict[str, list[int]] = defaultdict(list)
        self.by_colour: dict[str, list[int]] = defaultdict(list)
        for number in numbers:
            entry = pack.cutouts[number]
            self.by_group[group_of(entry)].append(number)
            self.by_noun[entry.noun].append(number)
            if entry.colour:
                self.by_colour[entry.colour].append(number)
        self._names = _Names(
            _mixed((self.everyone.shares(), 1 - THING_SHARE), (self.photographs.shares(), THING_SHARE))
        )
        filmed = [pack.cutouts[number] for number in numbers if not pack.cutouts[number].is_sprite]
        names = {name for entry in filmed for name in (entry.noun, group_of(entry))}  # a class is said as well
        self._filmed = names | self.photographs.shares().keys()
        self._akin: dict[str, _Names] = {}  # found when first asked for: every scene asks

    def names(self, rng: Random, count: int) -> list[str]:
        """Nouns, each about as often as scenes have what it names: a rare word must not be a sign of absence."""
        return self._names.some(rng, count)

    def names_akin(self, rng: Random, noun: str, count: int) -> list[str]:
        """The same of other nouns of the same kind; none where there are no others.

        Nor where there are none but sprites' names: of what no photograph shows it would be learned from an elephant's
        that a rhinoceros is never there.
        """
        if noun not in self._akin:
            near = [other for other in self.pack.nouns.akin(noun) if other in self._filmed]
            self._akin[noun] = _Names(
                {other: self._names.shares[other] for other in near if other in self._names.shares}
            )
        return self._akin[noun].some(rng, count)


class _Names:
    """Nouns with how often they are said."""

    def __init__(self, shares: Mapping[str, float]) -> None:
        self.shares = shares
        self._nouns = list(shares)
        self._heaped = list(accumulate(shares.values()))

    def some(self, rng: Random, count: int) -> list[str]:
        """So many of them, some perhaps twice; none where there are none."""
        return rng.choices(self._nouns, cum_weights=self._heaped, k=count) if self._nouns else []


class _Draw:
    """Draws a cut-out: sprite or photograph, then a class, then a noun, then one of it."""

    def __init__(self, pack: Pack, numbers: Sequence[int]) -> None:
        self._sprites = [number for number in numbers if pack.cutouts[number].is_sprite]
        self._sprite_nouns = Counter(pack.cutouts[number].noun for number in self._sprites)
        self._others = ByClass((n, pack.cutouts[n]) for n in numbers if not pack.cutouts[n].is_sprite)

    def one(self, rng: Random) -> int:
        """A cut-out's number."""
        if self._sprites and (not self._others or rng.random() < SPRITE_SHARE):
            return rng.choice(self._sprites)
        return self._others.one(rng)[0]

    def shares(self) -> Mapping[str, float]:
        """How often each noun is said of what is drawn."""
        sprites = {noun: count / len(self._sprites) for noun, count in self._sprite_nouns.items()}
        return _mixed((sprites, SPRITE_SHARE), (self._others.shares() if self._others else {}, 1 - SPRITE_SHARE))


def _mixed(*parts: tuple[Mapping[str, float], float]) -> Mapping[str, float]:
    """The shares of some drawings, each done so often."""
    found: dict[str, float] = defaultdict(float)
    for shares, weight in parts:
        for noun, share in shares.items():
            found[noun] += weight * share
    return found
