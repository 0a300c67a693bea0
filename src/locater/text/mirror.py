"""Left and right exchanged in a sentence, for the mirror image of a video."""

import re

_SIDES = {"left": "right", "right": "left"}
# Whole words alone: "leftmost", "right-hand", "leftwards" name sides; "bright" and "leftover" do not.
_SIDE = re.compile(r"\b(left|right)(?=(?:-?most|-?hand|-?handed|-?side|ward|wards)?\b)", re.IGNORECASE)
_TURN = re.compile(r"\b(counter-?|anti-?)?(clockwise)\b", re.IGNORECASE)


def mirror_sentence(sentence: str) -> str:
    """The sentence that is true of the mirrored video; both sides change at once, their case stays."""
    sided = _SIDE.sub(lambda match: _like(match[1], _SIDES[match[1].lower()]), sentence)
    return _TURN.sub(lambda match: match[2] if match[1] else _like(match[2], "counterclockwise"), sided)


def _like(model: str, word: str) -> str:
    """`word` in the case of `model`."""
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word
