"""What things are called, which broader noun is also true of them, and which other nouns might be.

Two sources may call one thing by two names, or a thing by a broader one. A noun that is neither clearly true nor
clearly false of an object is doubtful, and no sentence with it is asked where that object is.
"""

import re
from collections.abc import Iterable, Mapping

from locater.text.people import PEOPLE
from locater.worlds.composed.pack.kinds import kinds, wordnet_number

# Canonical noun: the ways to say it. A noun that is not here is said as it is.
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "airplane": ("airplane", "plane"),
    "bicycle": ("bicycle", "bike"),
    "boat": ("boat", "boat", "ship"),
    "car": ("car", "car", "automobile"),
    "cell phone": ("cell phone", "phone"),
    "couch": ("couch", "sofa"),
    "dining table": ("dining table", "table"),
    "duck": ("duck", "mallard"),
    "hippopotamus": ("hippopotamus", "hippo"),
    "motorcycle": ("motorcycle", "motorbike", "dirt bike"),
    "potted plant": ("potted plant", "plant"),
    "refrigerator": ("refrigerator", "fridge"),
    "rhinoceros": ("rhinoceros", "rhino"),
    "truck": ("truck", "truck", "lorry"),
    "tv": ("tv", "television"),
    # Which of these it is, no annotation tells; all of them are said of people.
    "person": (
        *("person", "person", "man", "man", "woman", "woman", "girl", "boy", "kid", "child", "guy", "lady", "human"),
        *("rider", "player", "dancer", "skater", "surfer", "hiker", "runner", "cyclist", "worker", "pedestrian"),
    ),
}
# People by what they do, where a picture tells it (roles.py), and the ways to say it.
ROLES: Mapping[str, tuple[str, ...]] = {
    "surfer": ("surfer",),
    "skier": ("skier",),
    "snowboarder": ("snowboarder",),
    "skateboarder": ("skateboarder", "skater"),
    "tennis player": ("tennis player", "player"),
    "baseball player": ("baseball player", "player"),
    "cyclist": ("cyclist", "biker", "rider"),
    "motorcyclist": ("motorcyclist", "biker", "rider"),
    "horse rider": ("horse rider", "rider"),
}
# Names that say something else than what the thing is: sides, colours, states.
_UNFIT = frozenset(
    (
        *("left", "right", "up", "down", "upper", "lower", "top", "bottom", "middle", "big", "small", "large"),
        *("little", "button", "sign", "symbol", "mark", "face", "clock", "input", "arrow", "keycap", "flag"),
        *("red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink", "white", "black", "brown", "gray"),
        *("grey", "golden", "with", "without", "and", "of", "at", "on", "in", "the", "moving", "still", "fast", "slow"),
    )
)


def plain(name: str) -> str:
    """A file's or category's name as words: lower-case, single spaces."""
    return " ".join(re.sub(r"[^a-z0-9'\- ]+", " ", name.lower().replace("_", " ")).split())


def broader_nouns(noun: str, kind_of: str = "") -> tuple[str, ...]:
    """Nouns that are true of everything called `noun`, nearest first; `kind_of` is one its source knows."""
    found = (kind_of, *kinds().chain(kind_of)) if kind_of and kind_of != noun else kinds().chain(noun)
    return tuple(each for each in found if each != noun)


def is_fit(name: str) -> bool:
    """Whether a name can stand as a noun in any sentence."""
    words = name.split()
    return 0 < len(words) <= 3 and not any(word in _UNFIT or any(c.isdigit() for c in word) for word in words)


def is_person(noun: str) -> bool:
    """Whether it names people: their clothes have colours, which are not theirs."""
    return not PEOPLE.isdisjoint(noun.split())


def nouns_of_photograph(stem: str) -> tuple[str, ...]:
    """What a photograph without annotations shows, as far as its file's name tells (`n02084071_dog`)."""
    number = wordnet_number(stem)
    found = [_words_of_file(stem)]
    if number is not None:
        found += [kinds().said.get(number, ""), kinds().of_number(number)]
    return tuple(dict.fromkeys(each for each in found if each))


def noun_of_photograph(name: str) -> tuple[str, tuple[str, ...]]:
    """The noun for the one thing that a photograph called `name` shows, and broader ones; "" where there is no fit."""
    number = wordnet_number(name)
    said = _words_of_file(name)
    kind = ""
    if number is not None:
        said = kinds().said.get(number, said)
        kind = kinds().of_number(number) if said else ""
    noun = next((each for each in (said, kind) if is_fit(each)), "")
    return noun, broader_nouns(noun, "" if kind == noun else kind)


def _words_of_file(name: str) -> str:
    """The words in a file's name, without a WordNet number in front or counting numbers."""
    return plain(re.sub(r"^n\d{8}(_|$)|\d+|-(?=\d|$)", " ", name))


class Nouns:
    """Every noun of a pack, and which of them may be true of what is called otherwise."""

    def __init__(self, broader: Mapping[str, tuple[str, ...]]) -> None:
        self.broader = dict(broader)
        for nouns in broader.values():
            for noun in nouns:
                self.broader.setdefault(noun, broader_nouns(noun))
        self._by_word: dict[str, set[str]] = {}
        for noun in self.broader:
            for word in _words(noun):
                self._by_word.setdefault(word, set()).add(noun)
        self._doubts: dict[str, frozenset[str]] = {}

    def doubtful(self, noun: str) -> frozenset[str]:
        """The nouns that may or may not be true of a thing called `noun`."""
        if noun not in self._doubts:
            known = self.broader.get(noun, broader_nouns(noun))
            near: set[str] = set()
            for word in _words(noun):
                near |= self._by_word.get(word, set())
            narrower = {other for other, broader in self.broader.items() if noun in broader}
            self._doubts[noun] = frozenset((near | narrower) - {noun, *known})
        return self._doubts[noun]

    def akin(self, noun: str) -> tuple[str, ...]:
        """Other nouns of the same kind, as a dog and a cat are animals: what a thing is taken for most easily."""
        own = set(self.broader.get(noun, ()))
        return tuple(n for n, broader in self.broader.items() if n != noun and own & set(broader))

    def said(self) -> dict[str, tuple[str, ...]]:
        """Each noun with the ways to say it; what people do, where it is known of some, is said of those alone."""
        said = {noun: ROLES.get(noun) or SYNONYMS.get(noun, (noun,)) for noun in sorted(self.broader)}
        roles = {word for noun in ROLES.keys() & said.keys() for word in ROLES[noun]}
        if roles and "person" in said:
            said["person"] = tuple(word for word in said["person"] if word not in roles)
        return said


def _words(noun: str) -> Iterable[str]:
    """What a noun has in common with others that may mean the same: its words, its synonyms', people, plurals."""
    words = {word for text in (noun, *SYNONYMS.get(noun, ())) for word in text.split()}
    words |= {word.removesuffix("s") for word in words}
    return words | ({"person"} if words & PEOPLE and noun not in ROLES else set())
