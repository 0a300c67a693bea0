"""What one description says about another: whether it makes it true, or leaves it open.

Both look at the roles alone, so they know as much as the annotations say and no more.
"""

from collections.abc import Mapping

from locater.text.roles import Role, RolePhrase, SentenceRoles

# Whoever is the first is also the others. Of the nouns that A2D's seven kinds of actors (adult, baby, ball, bird, car,
# cat, dog) are called by in its sentences; other nouns are only themselves.
_BROADER: Mapping[str, frozenset[str]] = {
    noun: frozenset(broader.split())
    for noun, broader in {
        "adult": "person human",
        "man": "person human adult guy gentleman",
        "guy": "person human adult man gentleman",
        "gentleman": "person human adult man guy",
        "woman": "person human adult lady",
        "lady": "person human adult woman",
        "boy": "person human child kid",
        "girl": "person human child kid",
        "child": "person human kid",
        "kid": "person human child",
        "baby": "person human child kid infant toddler",
        "toddler": "person human child kid baby infant",
        "infant": "person human child kid baby toddler",
        "player": "person human",
        "human": "person",
        "person": "human",
        "people": "person human",
        "dog": "animal",
        "puppy": "dog animal pup",
        "pup": "dog animal puppy",
        "cat": "animal",
        "kitten": "cat animal kitty",
        "kitty": "cat animal kitten",
        "bird": "animal",
        "chick": "bird animal",
        "duck": "bird animal",
        "eagle": "bird animal",
        "goose": "bird animal",
        "parrot": "bird animal",
        "pigeon": "bird animal",
        "automobile": "car vehicle",
        "car": "vehicle automobile",
        "truck": "vehicle",
        "basketball": "ball",
        "football": "ball",
        "volleyball": "ball",
    }.items()
}
# "in grass" is "on grass", "over the road" is "across the road".
_INTERCHANGEABLE = frozenset(
    ("in", "into", "on", "onto", "upon", "at", "of", "with", "along", "across", "over", "through")
)
# Where in the picture, which says nothing of where in the world: a dog on the left may well be on the floor.
_PICTURE_PLACES = frozenset(
    ("left", "right", "middle", "center", "centre", "front", "back", "behind", "side", "foreground", "background")
)


def makes_true(told: SentenceRoles, asked: SentenceRoles) -> bool:
    """Whether whatever `told` describes is described by `asked` too: "brown dog runs on grass" by "dog runs"."""
    return bool(asked.phrases) and all(
        any(_says(each, phrase) for each in told.phrases if each.role is phrase.role) for phrase in asked.phrases
    )


def leaves_open(told: SentenceRoles, asked: SentenceRoles) -> bool:
    """Whether what `told` describes may be described by `asked` too: the same actor does the same, and no role differs.

    "A man runs" leaves open whether "a man in red runs on grass".
    """
    known = set(told.structure)
    if any(role in asked.structure and role not in known for role in (Role.ARG0, Role.VERB)):
        return False
    return bool(asked.phrases) and all(_is_open(told, phrase) for phrase in asked.phrases)


def _is_open(told: SentenceRoles, phrase: RolePhrase) -> bool:
    comparable = [each for each in told.phrases if _sort(each) == _sort(phrase)]
    return not comparable or any(_says(each, phrase) or _says(phrase, each) for each in comparable)


def _sort(phrase: RolePhrase) -> tuple[Role, bool]:
    return phrase.role, phrase.role is Role.LOCATION and phrase.head in _PICTURE_PLACES


def _says(specific: RolePhrase, general: RolePhrase) -> bool:
    if specific.phrase == general.phrase:
        return True
    if specific.head != general.head and general.head not in _BROADER.get(specific.head, frozenset()):
        return False
    return _qualities(general) <= _qualities(specific)


def _qualities(phrase: RolePhrase) -> frozenset[str]:
    return frozenset(phrase.phrase.split()) - {phrase.head} - _INTERCHANGEABLE
