"""Any system's masks of people's own videos: questions from their table, masks laid out as their own are."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from locater.datasets.folder import FolderDataset
from locater.datasets.reading.lazy import LazySource
from locater.errors import LocaterError
from locater.evaluation.external.mask_files import MaskFiles, Numbers
from locater.evaluation.external.score_davis import as_numbers
from locater.evaluation.external.score_expressions import Question


def folder_questions(root: Path, split: str) -> Iterator[Question]:
    """The sentences of a folder whose masks are there."""
    dataset = FolderDataset(root, split)
    for info in dataset.samples():
        sample = dataset.load(info)
        assert isinstance(sample.frames, LazySource)
        yield Question(info, frame_names(sample.frames), sample.masks, sample.frames)


def frame_names(frames: LazySource) -> Sequence[str]:
    """What a mask of each frame is called: as its picture, or by its number."""
    return frames.frame_names or [f"{index:05d}" for index in range(frames.info.frame_count or 0)]


class FolderMasks:
    """Masks by `<question's key>/<frame>`, from one folder for each sentence or object, or palette PNGs for each video.

    A question's own folder goes before its object's, and both before the video's palette pictures, whose numbers are
    then the objects' numbers. A frame's number may have any count of zeros before it.
    """

    def __init__(self, files: MaskFiles) -> None:
        self._files = files
        self._in: dict[str, dict[str, str]] = {}
        for name in files.names():
            folder, _, frame = name.rpartition("/")
            self._in.setdefault(folder, {})[_as_number(frame)] = name

    def names(self) -> Sequence[str]:
        """As the files have them."""
        return self._files.names()

    def read(self, name: str) -> Numbers:
        """One frame's numbers for one question, 0 for background."""
        key, _, frame = name.rpartition("/")
        video, _, said = key.rpartition("/")
        wanted = said.partition("#")[0]
        for folder in (key, f"{video}/{wanted}"):
            if folder in self._in:
                return self._files.read(_found(self._in[folder], folder, frame))
        if video in self._in:
            numbers = self._files.read(_found(self._in[video], video, frame))
            return _of_objects(numbers, wanted, video)
        raise LocaterError(
            f"There are no masks of {key}; lay them out as {key}/{frame}.png, or as {video}/{frame}.png with the "
            "objects' numbers."
        )


def _found(frames: Mapping[str, str], folder: str, frame: str) -> str:
    if _as_number(frame) not in frames:
        raise LocaterError(f"There is no mask {folder}/{frame}.png; every annotated frame needs one.")
    return frames[_as_number(frame)]


def _as_number(frame: str) -> str:
    return str(int(frame)) if frame.isdecimal() else frame


def _of_objects(numbers: Numbers, wanted: str, video: str) -> Numbers:
    """The objects' own pixels of a palette picture."""
    objects = wanted.split("+")
    (numbers,) = as_numbers([numbers])
    if all(each.isdecimal() for each in objects):
        return np.where(np.isin(numbers, [int(each) for each in objects]), numbers, 0).astype(np.uint8)
    raise LocaterError(
        f"The masks of {video} are one picture for each frame, but '{wanted}' is no number; give {video}/{wanted}/ a "
        "folder of its own."
    )
