"""Puts a description into words; every word is lower-case and no sentence has more than 20."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from locater.worlds.claims import Claim, Description, Looks

MOST_WORDS = 20
DISTRACTOR_SHARE = 0.5  # of the sentences without a claim, where a world has distractor phrases
TWO_DISTRACTORS_SHARE = 0.25  # of those, if they fit
IDLE_SHARE = 0.25  # of the sentences without a colour, where a world has adjectives that decide nothing
TWO_IDLE_SHARE = 0.2  # of those, if they fit

Pattern = tuple[tuple[str, ...], ...]  # slots: one word or phrase of each, in this order
T = TypeVar("T")


@dataclass(frozen=True)
class Phrases:
    """Ways to say one thing: `before` the noun ("spinning"), or `after` it ("that spins")."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


COLOURS = {
    "red": ("red", "red", "crimson"),
    "orange": ("orange",),
    "yellow": ("yellow", "yellow", "golden"),
    "green": ("green",),
    "cyan": ("cyan", "turquoise"),
    "blue": ("blue",),
    "purple": ("purple", "violet"),
    "pink": ("pink",),
    "white": ("white",),
    "black": ("black",),
}
TEXTURES = {
    "solid": Phrases(("plain", "solid"), ("without a pattern",)),
    "striped": Phrases(("striped", "stripy"), ("with stripes",)),
    "dotted": Phrases(("dotted", "spotted"), ("with dots", "with spots")),
    "checkered": Phrases(("checkered", "checked"), ("with checks",)),
}
SIZES = {"big": ("big", "large", "huge"), "small": ("small", "little", "tiny")}

CLAIMS: dict[str, Phrases] = {
    "largest": Phrases(("largest", "biggest", "bigger", "larger")),
    "smallest": Phrases(("smallest", "littlest", "smaller")),
    "leftmost": Phrases(("leftmost",), ("farthest to the left",)),
    "rightmost": Phrases(("rightmost",), ("farthest to the right",)),
    "highest": Phrases(("highest", "topmost"), ("closest to the top",)),
    "lowest": Phrases(("lowest",), ("closest to the bottom",)),
    "middle": Phrases((), ("in the middle", "in the center", "that is in the middle of the picture")),
    "top": Phrases((), ("at the top", "in the upper half", "which is at the top of the picture")),
    "bottom": Phrases((), ("at the bottom", "in the lower half", "which is at the bottom of the picture")),
    "fast": Phrases(("fast",), ("moving fast", "that moves quickly", "which is moving rapidly", "moving quickly")),
    "slow": Phrases(("slow",), ("moving slowly", "that moves slowly", "which is creeping along")),
    "still": Phrases(
        ("motionless", "stationary", "unmoving"),
        ("that stays still", "which does not move", "standing still", "that stays in place", "not moving"),
    ),
    "spinning": Phrases(
        ("spinning", "rotating"), ("that is spinning", "that keeps turning", "which rotates", "that spins all the time")
    ),
    "growing": Phrases(
        ("growing",), ("that grows", "getting bigger", "which becomes larger", "that is getting larger and larger")
    ),
    "shrinking": Phrases(
        ("shrinking",), ("that shrinks", "getting smaller", "which becomes smaller", "that is getting smaller")
    ),
    "hidden": Phrases(
        (),
        (
            "that goes behind the {occluder}",
            "which disappears behind the {occluder}",
            "passing behind the {occluder}",
            "that gets hidden by the {occluder}",
            "that the {occluder} hides for a while",
        ),
    ),
    "left_of": Phrases((), ("left of {anchor}", "to the left of {anchor}", "that is on the left of {anchor}")),
    "right_of": Phrases((), ("right of {anchor}", "to the right of {anchor}", "that is on the right of {anchor}")),
    "above": Phrases((), ("above {anchor}", "over {anchor}", "which is higher than {anchor}")),
    "below": Phrases((), ("below {anchor}", "under {anchor}", "beneath {anchor}", "which is lower than {anchor}")),
    "next_to": Phrases((), ("next to {anchor}", "beside {anchor}", "near {anchor}", "that is close to {anchor}")),
}
for _side in ("left", "right"):
    CLAIMS[_side] = Phrases((), (f"on the {_side}", f"on the {_side} side", f"that is on the {_side} of the picture"))
for _row, _words in (("top", ("top", "upper")), ("bottom", ("bottom", "lower"))):
    for _side in ("left", "right"):
        CLAIMS[f"{_row}_{_side}"] = Phrases(
            (), (f"in the {_words[0]} {_side} corner", f"in the {_words[1]} {_side}", f"at the {_words[0]} {_side}")
        )
for _way, _toward in (("left", "to the left"), ("right", "to the right"), ("up", "upwards"), ("down", "downwards")):
    CLAIMS[f"moves_{_way}"] = Phrases(
        (),
        (f"moving {_way}", f"that moves {_way}", f"heading {_toward}", f"going {_toward}", f"which travels {_toward}"),
    )

# Present, past, participle.
EVENTS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "jump": (("jumps", "jumped", "jumping"), ("hops", "hopped", "hopping"), ("leaps", "leaped", "leaping")),
    "flash": (("flashes", "flashed", "flashing"), ("blinks", "blinked", "blinking")),
    "spin": (("turns around", "turned around", "turning around"), ("spins", "spun", "spinning")),
    "swell": (("swells", "swelled", "swelling"), ("puffs up", "puffed up", "puffing up")),
    "shake": (
        ("shakes", "shook", "shaking"),
        ("wiggles", "wiggled", "wiggling"),
        ("trembles", "trembled", "trembling"),
    ),
    "fall": (
        ("falls", "fell", "falling"),
        ("drops", "dropped", "dropping"),
        ("falls down", "fell down", "falling down"),
    ),
    "grow": (("grows", "grew", "growing"), ("gets bigger", "got bigger", "getting bigger")),
    "shrink": (("shrinks", "shrank", "shrinking"), ("gets smaller", "got smaller", "getting smaller")),
    "dart_left": (
        ("darts left", "darted left", "darting left"),
        ("rushes to the left", "rushed to the left", "rushing to the left"),
    ),
    "dart_right": (
        ("darts right", "darted right", "darting right"),
        ("rushes to the right", "rushed to the right", "rushing to the right"),
    ),
}
TIMES = {
    "early_event": ("at the beginning", "at the start", "early on", "in the beginning", "at first"),
    "late_event": ("at the end", "in the end", "near the end", "at last", "towards the end"),
}
PRONOUNS = ("that", "that", "which")


@dataclass(frozen=True)
class Lexicon:
    """A world's own words, each canonical one with its synonyms."""

    nouns: Mapping[str, tuple[str, ...]]
    generic_nouns: tuple[str, ...] = ("object", "thing")
    occluders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    colours: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: COLOURS)
    textures: Mapping[str, Phrases] = field(default_factory=lambda: TEXTURES)
    # Nouns whose colour is that of what they wear, and how it is said: "in {colour}".
    clothed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # What may be added to a noun where no claim is made, without deciding anything.
    distractor_phrases: Mapping[str, tuple[Pattern, ...]] = field(default_factory=dict)
    idle_adjectives: tuple[str, ...] = ()
    pictures: Mapping[str, int] = field(default_factory=dict)  # how many show each noun, where they are counted
    more_words: tuple[str, ...] = ()  # of what the world asks in other ways than `say`

    def vocabulary(self) -> list[str]:
        """Every word that a world with this lexicon can ever say, sorted."""
        texts = ["the", "a", "an", *self.generic_nouns, *PRONOUNS, *self.more_words]
        for synonyms in (*self.nouns.values(), *self.occluders.values(), *self.colours.values(), *SIZES.values()):
            texts += synonyms
        for phrases in (*self.textures.values(), *CLAIMS.values()):
            texts += phrases.before + phrases.after
        texts += self.idle_adjectives
        texts += {text for phrases in self.clothed.values() for text in phrases}
        # Thousands of nouns share a few tuples: each is read once.
        for patterns in {id(patterns): patterns for patterns in self.distractor_phrases.values()}.values():
            texts += {text for pattern in patterns for slot in pattern for text in slot}
        texts += [form for verbs in EVENTS.values() for verb in verbs for form in verb]
        texts += [time for times in TIMES.values() for time in times]
        return sorted({word for text in texts for word in text.split() if not word.startswith("{")})


def say(description: Description, rng: Random, lexicon: Lexicon, occluder: str = "") -> str:
    """One of many sentences for a description."""
    before, after, needs_the = "", "", False
    claim = description.claim
    if claim is not None:
        before, after = _say_claim(claim, rng, lexicon, occluder)
        needs_the = claim.name in ("largest", "smallest", "leftmost", "rightmost", "highest", "lowest")
    has_distractor = (
        claim is None and description.looks.noun in lexicon.distractor_phrases and rng.random() < DISTRACTOR_SHARE
    )
    words = _say_looks(description.looks, rng, lexicon, before, may_trail=not after and not has_distractor)
    words = f"{words} {after}" if after else words
    if has_distractor:
        for pattern in _one_or_two(rng, lexicon.distractor_phrases[description.looks.noun], TWO_DISTRACTORS_SHARE):
            words = _unless_long(f"{words} {' '.join(rng.choice(slot) for slot in pattern)}", words)
    if not before and not description.looks.colour and lexicon.idle_adjectives and rng.random() < IDLE_SHARE:
        for adjective in _one_or_two(rng, lexicon.idle_adjectives, TWO_IDLE_SHARE):
            words = _unless_long(f"{adjective} {words}", words)
    draw = rng.random()
    if needs_the or draw < 0.8:
        return f"the {words}"
    if draw < 0.9:
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
    return words


def _one_or_two(rng: Random, options: Sequence[T], two_share: float) -> list[T]:
    return rng.sample(options, min(len(options), 2 if rng.random() < two_share else 1))


def _unless_long(words: str, shorter: str) -> str:
    return words if len(words.split()) < MOST_WORDS else shorter  # one word is left for the article


def _say_looks(looks: Looks, rng: Random, lexicon: Lexicon, before: str = "", may_trail: bool = False) -> str:
    adjectives, trailing = [], ""
    if looks.texture:
        phrases = lexicon.textures[looks.texture]
        if may_trail and rng.random() < 0.35:
            trailing = rng.choice(phrases.after)
        else:
            adjectives.append(rng.choice(phrases.before))
    if looks.colour and looks.noun in lexicon.clothed:
        trailing = rng.choice(lexicon.clothed[looks.noun]).format(colour=rng.choice(lexicon.colours[looks.colour]))
    elif looks.colour:
        adjectives.insert(rng.randrange(len(adjectives) + 1), rng.choice(lexicon.colours[looks.colour]))
    if looks.size:
        adjectives.insert(0, rng.choice(SIZES[looks.size]))
    noun = rng.choice(lexicon.nouns[looks.noun] if looks.noun else lexicon.generic_nouns)
    return " ".join(part for part in (before, *adjectives, noun, trailing) if part)


def _say_claim(claim: Claim, rng: Random, lexicon: Lexicon, occluder: str) -> tuple[str, str]:
    if claim.topic in TIMES:
        present, past, participle = rng.choice(EVENTS[claim.name])
        time = rng.choice(TIMES[claim.topic])
        if rng.random() < 0.3:
            return "", f"{participle} {time}"
        tense = past if rng.random() < (0.6 if claim.topic == "early_event" else 0.2) else present
        return "", f"{rng.choice(PRONOUNS)} {tense} {time}"
    phrases = CLAIMS[claim.name]
    if phrases.before and (not phrases.after or rng.random() < 0.4):
        return rng.choice(phrases.before), ""
    after = rng.choice(phrases.after)
    if "{anchor}" in after:
        after = after.replace("{anchor}", "the " + _say_looks(claim.anchor, rng, lexicon))
    if "{occluder}" in after:
        after = after.replace("{occluder}", rng.choice(lexicon.occluders[occluder]))
    return "", after
