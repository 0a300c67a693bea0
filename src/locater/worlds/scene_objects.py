"""What a sentence can speak of: the objects of one video as words see them, whatever world drew their pixels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

EARLY_END = 1 / 3  # early events end before this fraction of the video
LATE_START = 2 / 3  # late events start after this fraction of the video


@dataclass(frozen=True)
class Event:
    """Something an object does once; `start` and `end` are fractions of the video."""

    name: str
    start: float
    end: float

    @property
    def when(self) -> str:
        """`early` (within the first third), `late` (within the last third), or `` (neither)."""
        if self.end <= EARLY_END:
            return "early"
        return "late" if self.start >= LATE_START else ""


@dataclass(frozen=True)
class SceneObjects:
    """All objects that a sentence may mean, over all F frames of a video; lengths are in sides of the frame.

    Positions have their origin at the top left corner: x to the right, y down.
    """

    nouns: tuple[str, ...]  # N
    colours: tuple[str, ...]  # N; "" is unknown
    textures: tuple[str, ...]  # N; "" is unknown
    centres: Array  # (N, F, 2) as seen in the frame
    radii: Array  # (N, F)
    angles: Array  # (N, F) radians; constant for what looks the same when turned
    covered: Array  # (N, F) fraction hidden by the occluder
    visibility: Array  # (N, F) fraction hidden by nothing
    events: tuple[tuple[Event, ...], ...]  # N
    camera: Array  # (F, 2) how far the camera's shake has moved the picture
    broader: tuple[tuple[str, ...], ...] = ()  # N, or empty: further nouns that are true of it, nearest first
    doubtful: tuple[frozenset[str], ...] = ()  # N, or empty: nouns and colours that may be true of it
    is_vague: tuple[bool, ...] = ()  # N, or empty: it is there, but nobody can say where or what it does
    occluder: str = ""  # the noun of the thing that hides others, when there is one
    sides_are_relative: bool = False  # of two, the left one is "on the left" wherever both are, as people say it

    def __len__(self) -> int:
        return len(self.nouns)

    @cached_property
    def paths(self) -> Array:
        """Centres relative to the ground, (N, F, 2), from the first frame on: camera shake is no motion."""
        ground = self.centres - self.camera
        return ground - ground[:, :1]

    @cached_property
    def path_lengths(self) -> Array:
        """Way travelled over the video, (N,)."""
        steps = np.diff(self.paths, axis=1)
        return np.asarray(np.sqrt((steps * steps).sum(axis=2)).sum(axis=1))

    @cached_property
    def growths(self) -> Array:
        """Radius relative to the first frame's, (N, F)."""
        return self.radii / self.radii[:, :1]
