"""Words for colours."""

from collections.abc import Mapping

COLOUR_WORDS = (
    *("red", "orange", "yellow", "green", "cyan", "blue"),
    *("purple", "pink", "white", "black", "gray", "brown"),
)
SAME_COLOURS: Mapping[str, str] = {
    "crimson": "red",
    "golden": "yellow",
    "turquoise": "cyan",
    "violet": "purple",
    "grey": "gray",
    "silver": "gray",
}
