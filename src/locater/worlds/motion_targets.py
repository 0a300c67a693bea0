"""What each object of a scene does in the whole video, as numbers of order one: targets for training."""

from typing import Final

import numpy as np
import numpy.typing as npt

from locater.worlds.claims import EARLY_EVENTS, LATE_EVENTS
from locater.worlds.scene_objects import SceneObjects

_EVENTS = (*(("early", name) for name in EARLY_EVENTS), *(("late", name) for name in LATE_EVENTS))
MOTION_TARGETS: Final = (
    "moved_right", "moved_down", "travelled", "grew", "turned", *(f"{when}_{name}" for when, name in _EVENTS)
)  # fmt: skip
# A video's mirror image: these change their sign, and these change places.
_NEGATED = ("moved_right",)
_EXCHANGED = {"late_dart_left": "late_dart_right", "late_dart_right": "late_dart_left"}
EVENT = 2.0  # events are rare: at 1 they would hardly weigh beside the ways
MIRROR_ORDER: Final = tuple(MOTION_TARGETS.index(_EXCHANGED.get(name, name)) for name in MOTION_TARGETS)
MIRROR_SIGN: Final = tuple(-1.0 if name in _NEGATED else 1.0 for name in MOTION_TARGETS)


def motion_targets(objects: SceneObjects) -> npt.NDArray[np.float32]:
    """(N, len(MOTION_TARGETS)): ways and growth in their usual sizes, events as 0 or `EVENT`."""
    result = np.zeros((len(objects), len(MOTION_TARGETS)), dtype=np.float32)
    result[:, 0] = objects.paths[:, -1, 0] / 0.2
    result[:, 1] = objects.paths[:, -1, 1] / 0.2
    result[:, 2] = objects.path_lengths / 0.4
    result[:, 3] = np.log(objects.growths[:, -1]) / 0.5
    result[:, 4] = np.abs(objects.angles[:, -1] - objects.angles[:, 0]) / 5.0
    for index, events in enumerate(objects.events):
        done = {(event.when, event.name) for event in events}
        result[index, 5:] = [EVENT * (event in done) for event in _EVENTS]
    return result
