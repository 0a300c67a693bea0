"""What people add to a noun without deciding anything by it: "the bear walking past the rocks" of the only bear.

Nobody checks whether an aside is true. A network that never read any would take a sentence of unknown words for a
sentence on something else. None of them uses a word that claims use: places in the picture, sizes, motions, events.
"""

from collections.abc import Sequence
from itertools import permutations

from locater.worlds.composed.nouns import is_person

# Before the noun, where no colour is said: what no annotation tells, and colours of things that have several.
IDLE_ADJECTIVES = (
    *(f"{one} and {other}" for one, other in permutations(("white", "black", "blue", "red", "brown", "green"), 2)),
    *("silver", "shiny", "old", "new", "young", "colorful", "speckled", "pretty", "dirty", "real", "toy", "tall"),
)
_GROUNDS = (
    *("on the grass", "across the field", "in the street", "along the path", "down the road", "on the beach"),
    *("past the rocks", "in the snow", "through the forest", "by the water", "in the garden", "on the floor"),
    *("in front of the wall", "in front of the trees", "in the park", "among the people", "in the sun"),
)
_CLOTHES = ("shirt", "t-shirt", "jacket", "sweater", "coat", "dress", "skirt", "blouse", "suit", "hat", "helmet")
_DYES = ("white", "black", "blue", "red", "green", "yellow", "gray", "brown", "pink", "dark", "light", "striped")
_PEOPLE = (
    *(f"in a {dye} {garment}" for dye in _DYES for garment in _CLOTHES),
    *(f"wearing {dye} {legs}" for dye in _DYES for legs in ("jeans", "shorts", "pants", "shoes")),
    *(
        f"with a {load}"
        for load in ("backpack", "bag", "racket", "stick", "bike", "dog", "camera", "stroller", "board")
    ),
    *(f"{act} {ground}" for act in ("walking", "running", "standing", "sitting", "dancing") for ground in _GROUNDS),
    *("jumping over the fence", "jumping in the air", "with a friend", "on a bike", "on a scooter", "on a skateboard"),
    *("playing tennis", "playing with a ball", "riding a bike", "riding a horse", "skating", "hiking", "surfing"),
    *("hitting the ball", "talking to somebody", "looking at the camera", "waving", "pushing a cart", "dancing"),
)
_ANIMALS = (
    *(f"{act} {ground}" for act in ("walking", "running", "standing", "lying", "sitting") for ground in _GROUNDS),
    *("swimming in the pond", "swimming in the water", "wading in the water", "flying over the water", "flying away"),
    *("jumping over the fence", "jumping over the log", "taking off from the water", "in the foreground"),
    *("eating grass", "eating its food", "drinking", "sleeping", "looking around", "looking at the camera"),
    *("with its mouth open", "with long legs", "with soft fur", "searching for food", "playing with its friends"),
)
_VEHICLES = (
    *(f"{act} {ground}" for act in ("driving", "parked", "standing", "speeding", "rolling") for ground in _GROUNDS),
    *("driving around the bend", "driving around the corner", "drifting around the corner", "in the traffic"),
    *("speeding across the water", "on the track", "with people in it", "with its lights on", "full of passengers"),
)
_THINGS = (
    *(
        "on the table",
        "on the ground",
        "on the grass",
        "on the shelf",
        "in the room",
        "in the picture",
        "in this video",
    ),
    *("in front of the wall", "lying there", "standing there", "that somebody put there", "in front of the camera"),
)


def asides_for(noun: str, broader: Sequence[str]) -> tuple[str, ...]:
    """Clauses that people say after such a noun."""
    if is_person(noun):
        return _PEOPLE
    if "animal" in broader or noun == "animal":
        return _ANIMALS
    return _VEHICLES if "vehicle" in broader or noun == "vehicle" else _THINGS
