"""What shapes can look like, what they are called, and which colour-shape pairs are held out."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from locater.worlds.grammar import Lexicon
from locater.worlds.motion import OCCLUDER, Actor
from locater.worlds.sentences import Attributes

# Each colour with the second colour of its pattern: the same colour darker or paler, so that its word stays true.
PALETTE: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "red": ((0.90, 0.10, 0.10), (0.45, 0.02, 0.02)),
    "orange": ((1.00, 0.52, 0.05), (0.62, 0.28, 0.00)),
    "yellow": ((0.98, 0.90, 0.12), (1.00, 0.99, 0.70)),
    "green": ((0.12, 0.72, 0.18), (0.02, 0.36, 0.06)),
    "cyan": ((0.15, 0.88, 0.90), (0.02, 0.50, 0.52)),
    "blue": ((0.12, 0.25, 0.95), (0.03, 0.07, 0.45)),
    "purple": ((0.55, 0.15, 0.85), (0.28, 0.04, 0.46)),
    "pink": ((1.00, 0.45, 0.75), (1.00, 0.80, 0.92)),
    "white": ((0.97, 0.97, 0.97), (0.66, 0.66, 0.66)),
    "black": ((0.06, 0.06, 0.06), (0.33, 0.33, 0.33)),
}
COLOURS = tuple(PALETTE)
SHAPES = ("circle", "square", "triangle", "star", "ring", "cross", "heart", "hexagon", "crescent", "arrow")
TEXTURES = ("solid", "striped", "dotted", "checkered")
PANEL = "panel"  # the occluder's shape; never a referent

RADII: Mapping[str, tuple[float, float]] = {"small": (0.075, 0.086), "medium": (0.102, 0.120), "large": (0.140, 0.160)}
ROUND = ("circle", "ring")  # turning shows only in their pattern
ROUND_TEXTURES = ("striped", "checkered")  # the patterns in which it does

# One pair for each colour and each shape; in train, validation and test no object and no sentence has such a pair.
HELD_OUT_PAIRS = frozenset((colour, SHAPES[(3 * index + 1) % len(SHAPES)]) for index, colour in enumerate(COLOURS))
ALL_PAIRS = tuple((colour, shape) for colour in COLOURS for shape in SHAPES)
SEEN_PAIRS = tuple(pair for pair in ALL_PAIRS if pair not in HELD_OUT_PAIRS)

SAID: tuple[tuple[Attributes, float], ...] = (
    (("noun", "colour"), 0.55),
    (("noun",), 0.15),
    (("noun", "colour", "texture"), 0.12),
    (("colour",), 0.08),
    ((), 0.10),
)

LEXICON = Lexicon(
    nouns={
        "circle": ("circle", "disc"),
        "square": ("square",),
        "triangle": ("triangle",),
        "star": ("star",),
        "ring": ("ring", "hoop"),
        "cross": ("cross", "plus"),
        "heart": ("heart",),
        "hexagon": ("hexagon",),
        "crescent": ("crescent", "moon"),
        "arrow": ("arrow",),
    },
    generic_nouns=("shape", "object", "thing"),
    occluders={OCCLUDER: ("wall", "panel", "board")},
)


class AppearanceSampler:
    """Draws the looks of a scene's objects, within the pairs that the split allows; a `staging.AppearanceSampler`."""

    radii = RADII
    growing_radii = (0.08, 1.85)
    crowd = (3, 5)
    least_others = 1
    superlative_share = 0.3
    panel_shape = PANEL
    panel_texture = "checkered"

    def __init__(self, rng: Random, is_held_out: bool) -> None:
        self._rng = rng
        self._star_pairs = tuple(sorted(HELD_OUT_PAIRS)) if is_held_out else SEEN_PAIRS
        self._other_pairs = ALL_PAIRS if is_held_out else SEEN_PAIRS

    def referent(self, turns: bool = False) -> Actor:
        """The referent without its size; `turns`: one whose turning can be seen."""
        colour, shape = self._rng.choice(self._star_pairs)
        textures = ROUND_TEXTURES if turns and shape in ROUND else TEXTURES
        return _dressed(colour, shape, self._rng.choice(textures))

    def other(self, referent: Actor) -> Actor:
        """Another object: often of the referent's colour or its shape, never both."""
        rng = self._rng
        sharing = rng.random()
        for _ in range(100):
            if sharing < 0.35:
                pair = (referent.colour, rng.choice(SHAPES))
            elif sharing < 0.7:
                pair = (rng.choice(COLOURS), referent.shape)
            else:
                pair = rng.choice(self._other_pairs)
            if pair != (referent.colour, referent.shape) and pair in self._other_pairs:
                break
        return _dressed(*pair, rng.choice(TEXTURES))

    def twin(self, actor: Actor, exact: bool) -> Actor:  # noqa: ARG002
        """Another object that looks the same: all twins of this world do in all."""
        return replace(actor, events=list(actor.events))

    def attempts(self, topic: str) -> list[Attributes]:
        """Attributes to say, the first one at random, then ever more of them."""
        rng = self._rng
        first: Attributes
        if topic == "superlative":
            return [("noun",), ("noun", "colour")]
        if topic == "size":
            first = rng.choice((("size", "noun"), ("size", "colour"), ("size", "noun", "colour")))
            return [first, ("size", "noun", "colour"), ("size", "noun", "colour", "texture")]
        if topic == "appearance":
            said: list[Attributes] = [
                ("noun", "colour"),
                ("noun",),
                ("colour",),
                ("noun", "texture"),
                ("colour", "texture"),
            ]
            first = rng.choice([*said, ("noun", "colour", "texture"), ("size", "noun", "colour")])
            return [first, ("noun", "colour"), ("noun", "colour", "texture")]
        first = rng.choices([said for said, _ in SAID], [weight for _, weight in SAID])[0]
        return [first, ("noun", "colour"), ("noun", "colour", "texture"), ("noun", "colour", "texture", "size")]


def _dressed(colour: str, shape: str, texture: str) -> Actor:
    return Actor(colour, shape, texture, 0.0, shows_turning=shape not in ROUND or texture in ROUND_TEXTURES)
