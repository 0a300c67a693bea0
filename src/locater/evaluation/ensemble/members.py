"""The members of an ensemble: each a folder of answers of `locater evaluate`, or any system's PNGs or run lengths."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from locater.errors import LocaterError
from locater.evaluation.ensemble.files import frame_names
from locater.evaluation.external.folder_masks import FolderMasks
from locater.evaluation.external.mask_files import open_mask_files
from locater.evaluation.run.journal import PATTERN, JournalReader
from locater.records import Mask, Sample


class Member(Protocol):
    """One system's answers."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    def masks(self, sample: Sample) -> Mapping[int, Mask]:
        """Its masks for one question, by frame."""
        ...


def open_member(spec: str) -> Member:
    """The member behind `NAME=PATH` or `PATH`."""
    name, is_named, path = spec.partition("=")
    place = Path(path if is_named else spec).expanduser()
    label = name if is_named else place.stem
    if not place.exists():
        raise LocaterError(f"There is no {place}; a member is a folder of `locater evaluate`, or of masks.")
    if place.is_dir() and any(place.glob(PATTERN)):
        journal = JournalReader(place)
        journal.refresh()
        return _Evaluated(label, journal, place)
    return _Masks(label, FolderMasks(open_mask_files(place)))


@dataclass(frozen=True)
class _Evaluated:
    name: str
    journal: JournalReader
    folder: Path

    def masks(self, sample: Sample) -> Mapping[int, Mask]:
        answer = self.journal.answers.get(sample.info.key)
        if answer is None or answer.info.expression != sample.info.expression:
            raise LocaterError(
                f"{self.folder} has no answer to '{sample.info.key}'; finish it with `locater evaluate` on this data."
            )
        return {index: drawn.mask() for index, drawn in answer.predictions.items()}


@dataclass(frozen=True)
class _Masks:
    name: str
    files: FolderMasks

    def masks(self, sample: Sample) -> Mapping[int, Mask]:
        names = frame_names(sample.frames)
        wanted = sorted(sample.masks) if len(sample.masks) else range(len(names))
        return {index: self.files.read(f"{sample.info.key}/{names[index]}") != 0 for index in wanted}
