"""What each object of a cast does in the whole video, as numbers of order one that training can ask a network for."""

from typing import Final

import numpy as np
import numpy.typing as npt

from locater.worlds.claims import EARLY_EVENTS, LATE_EVENTS
from locater.worlds.scene_objects import Cast

_EVENTS = (*(("early", name) for name in EARLY_EVENTS), *(("late", name) for name in LATE_EVENTS))
DOINGS: Final = (
    "moved_right", "moved_down", "travelled", "grew", "turned", *(f"{when}_{name}" for when, name in _EVENTS)
)  # fmt: skip
# A video's mirror image: these change their sign, and these change places.
_NEGATED = ("moved_right",)
_EXCHANGED = {"late_dart_left": "late_dart_right", "late_dart_right": "late_dart_left"}
EVENT = 2.0  # events are rare: at 1 they would hardly weigh beside the ways
MIRROR_ORDER: Final = tuple(DOINGS.index(_EXCHANGED.get(name, name)) for name in DOINGS)
MIRROR_SIGN: Final = tuple(-1.0 if name in _NEGATED else 1.0 for name in DOINGS)


def doings(cast: Cast) -> npt.NDArray[np.float32]:
    """(N, len(DOINGS)): ways and growth in their usual sizes, events as 0 or `EVENT`."""
    result = np.zeros((len(cast), len(DOINGS)), dtype=np.float32)
    result[:, 0] = cast.paths[:, -1, 0] / 0.2
    result[:, 1] = cast.paths[:, -1, 1] / 0.2
    result[:, 2] = cast.path_lengths / 0.4
    result[:, 3] = np.log(cast.growths[:, -1]) / 0.5
    result[:, 4] = np.abs(cast.angles[:, -1] - cast.angles[:, 0]) / 5.0
    for index, events in enumerate(cast.events):
        done = {(event.when, event.name) for event in events}
        result[index, 5:] = [EVENT * (event in done) for event in _EVENTS]
    return result
