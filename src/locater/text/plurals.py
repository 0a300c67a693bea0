"""The plural of an English noun, by rule and a short list."""

_IRREGULAR = {
    **{"person": "people", "man": "men", "woman": "women", "child": "children", "goose": "geese", "mouse": "mice"},
    **{"foot": "feet", "tooth": "teeth", "ox": "oxen", "leaf": "leaves", "potato": "potatoes", "tomato": "tomatoes"},
    **{"rhinoceros": "rhinoceroses", "loaf": "loaves", "monarch": "monarchs"},
}
_PLURALS = frozenset(_IRREGULAR.values())
_UNCHANGED = frozenset(
    (
        *("sheep", "fish", "deer", "salmon", "trout", "moose", "bison", "aircraft", "squid", "shrimp"),
        *("grouse", "maltese", "pekinese"),
    )
)
_NO_MEN = frozenset(("human", "birman", "doberman", "caiman", "ottoman", "talisman"))
_ENDINGS = (
    ("ife", "ives"),  # a giraffe is none of them
    ("lf", "lves"),
    ("rf", "rves"),
    ("sis", "ses"),
    *((each, f"{each}es") for each in ("s", "x", "z", "ch", "sh")),
)


def plural(noun: str) -> str:
    """The plural of a lower-case noun, its last word changed; "" for "skis" and "bicycle-built-for-two"."""
    *before, last = noun.split()
    if "-for-" in last:
        return ""
    changed = _plural_of_word(last)
    return " ".join((*before, changed)) if changed else ""


def _plural_of_word(word: str) -> str:
    if word in _IRREGULAR or word in _UNCHANGED or word.endswith("fish"):
        return _IRREGULAR.get(word, word)
    if word.endswith("man") and word not in _NO_MEN:  # policeman, policewoman
        return f"{word[:-3]}men"
    if word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "sis"))):
        return ""
    for ending, changed in _ENDINGS:
        if word.endswith(ending):
            return word[: len(word) - len(ending)] + changed
    is_consonant_y = word.endswith("y") and word[-2:-1] not in "aeiou"
    return f"{word[:-1]}ies" if is_consonant_y else f"{word}s"
