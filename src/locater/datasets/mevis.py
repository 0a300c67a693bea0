"""MeViS: sentences about motion, each meaning one object, several, or (second release) none.

Ding et al., "MeViS", ICCV 2023, and its second release, TPAMI 2025.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import LazySource, MaskFile
from locater.datasets.reading.meta_expressions import (
    DescribedDataset,
    DescribedVideo,
    Expression,
    read_meta_expressions,
)
from locater.errors import LocaterError
from locater.io.coco_masks import decode_segmentation
from locater.io.text_files import find, need, read_json
from locater.records import Mask, SampleInfo

PUBLISHED: Mapping[str, Figures] = {  # the first and the second release
    "train": {"videos": 1662, "sentences": (23051, 27502)},
    "valid_u": {"videos": 50, "sentences": (793, 907)},
    "valid": {"videos": 140, "sentences": (2236, 2523)},
}


class Mevis(DescribedDataset):
    """One question per sentence, key `<video>/<expression id>`; its mask is the union of all objects it means."""

    label = "mevis"

    def _object_id(self, expression: Expression) -> str | None:
        return "+".join(expression.annotation_ids) if expression.annotation_ids else None

    def _kind(self, expression: Expression) -> str:
        """Single, multi or absent by the objects it means."""
        if expression.annotation_ids is None:
            return ""
        return {0: "absent", 1: "single"}.get(len(expression.annotation_ids), "multi")

    @cached_property
    def _videos(self) -> dict[str, DescribedVideo]:
        places = (f"{self.split}/meta_expressions.json", f"{self.split}/meta_expressions_v2.json")
        return read_meta_expressions(need(self.root, places))

    @cached_property
    def _mask_path(self) -> Path | None:
        return find(self.root, (f"{self.split}/mask_dict.json",))

    @cached_property
    def _tracks(self) -> dict[str, list[Any]]:
        """Each annotated object's runs, frame by frame; null where it is out of sight."""
        assert self._mask_path is not None
        tracks = read_json(self._mask_path)
        if not isinstance(tracks, dict):
            raise LocaterError(f"{self._mask_path} is not laid out as published: no table; download it again.")
        return tracks

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        video = self._videos[info.video]
        expression = video.expressions[info.key.rpartition("/")[2]]
        if expression.annotation_ids is None:  # valid: the masks are withheld
            return {}
        path = self._mask_path
        if path is None:
            raise LocaterError(f"{self.root / self.split / 'mask_dict.json'} is missing; download it again.")
        tracks: list[list[Any]] = []
        for number in expression.annotation_ids:
            track = self._tracks.get(number)
            if not isinstance(track, list) or len(track) != len(video.frames):
                raise LocaterError(
                    f"{path} has no track {number} of {len(video.frames)} frames for {info.key}; download it again."
                )
            tracks.append(track)
        # An object out of sight has no runs; any other frame's tell the size without opening a picture.
        sizes = (runs.get("size") for track in tracks for runs in track if isinstance(runs, dict))
        size = next((tuple(each) for each in sizes if each), None)
        frames = LazySource(lambda: self._frames(info.video))
        files: dict[int, MaskFile] = {}
        for index in range(len(video.frames)):
            name = f"{path} ({info.key}, frame {index + 1})"
            runs = [track[index] for track in tracks if track[index] is not None]
            files[index] = MaskFile(name, partial(_union, runs, size, frames, name))
        return files


def _union(runs: Sequence[Any], size: tuple[int, ...] | None, frames: LazySource, name: str) -> Mask:
    if not runs:
        return np.zeros(size or frames.size(), dtype=np.bool_)
    masks = [decode_segmentation(each, 0, 0, name) for each in runs]  # runs carry their own size
    if len({mask.shape for mask in masks}) > 1:
        raise LocaterError(f"{name} holds masks of different sizes; download it again.")
    union: Mask = np.any(np.stack(masks), axis=0)
    return union
