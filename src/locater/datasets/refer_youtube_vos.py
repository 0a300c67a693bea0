"""Refer-YouTube-VOS: two sentences or so for each object of YouTube-VOS 2019.

Seo et al., "URVOS", ECCV 2020; the release of the 2021 challenge, whose sentences describe the whole video.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.mask_pictures import binary_mask_file, palette_mask_file
from locater.datasets.reading.meta_expressions import (
    DescribedDataset,
    DescribedVideo,
    Expression,
    read_meta_expressions,
)
from locater.datasets.reading.picture_sequence import need_folder
from locater.errors import LocaterError
from locater.io.text_files import as_published, find, need, read_json, read_lines
from locater.records import SampleInfo

PUBLISHED: Mapping[str, Figures] = {
    "train": {"videos": 3471, "sentences": 12913},
    "valid": {"videos": 202, "sentences": 834},
    "test": {"videos": 305, "sentences": 1262},
}

_ALONE = "refer_youtube_vos_meta_expressions.json"  # valid and test in one file, without the pixels
_VALID_LIST = ("refer_youtube_vos_valid_202.txt", "meta_expressions/refer_youtube_vos_valid_202.txt")


class ReferYouTubeVos(DescribedDataset):
    """One question per sentence, key `<video>/<expression id>`; valid and test have masks where somebody put them."""

    label = "refer-youtube-vos"

    def _object_id(self, expression: Expression) -> str | None:
        return expression.object_ids[0] if expression.object_ids else None

    def _object_count(self, video: str) -> int | None:
        return self._annotated_objects.get(video, super()._object_count(video))

    @cached_property
    def _videos(self) -> dict[str, DescribedVideo]:
        if self.split == "train":
            return read_meta_expressions(need(self.root, (_place("train"),)))
        if self.split == "valid":
            videos = read_meta_expressions(need(self.root, (_place("valid"), _ALONE)))
            return {name: video for name, video in videos.items() if self._is_valid(name)}
        path = find(self.root, (_place("test"),))
        if path is not None:
            return read_meta_expressions(path)
        videos = read_meta_expressions(need(self.root, (_place("test"), _place("valid"), _ALONE)))
        if self._valid_list is None:
            raise LocaterError(f"{self.root / _place('test')} is missing; download it again.")
        return {name: video for name, video in videos.items() if name not in self._valid_list}

    def _is_valid(self, video: str) -> bool:
        """Whether it is one of the 202: the valid file lists the 305 test videos too."""
        if self._valid_list is not None:
            return video in self._valid_list
        return video not in self._test_videos

    @cached_property
    def _valid_list(self) -> frozenset[str] | None:
        path = find(self.root, _VALID_LIST)
        return frozenset(read_lines(path)) if path else None

    @cached_property
    def _test_videos(self) -> frozenset[str]:
        path = find(self.root, (_place("test"),))
        return frozenset(read_meta_expressions(path)) if path else frozenset()

    @cached_property
    def _annotated_objects(self) -> dict[str, int]:
        """How many objects meta.json names, by video: more than are described in a few."""
        path = find(self.root, (f"{self.split}/meta.json",))
        if path is None:
            return {}
        content = read_json(path)
        with as_published(path):
            return {str(video): len(entry["objects"]) for video, entry in content["videos"].items()}

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        folder = self.root / self.split / "Annotations"
        names = self._videos[info.video].frames
        if self.split == "train":
            need_folder(folder)
            return {
                index: self._palette_mask(folder / info.video / f"{name}.png", info) for index, name in enumerate(names)
            }
        # The masks of valid and test were withheld for years. Where they are, they are palette pictures as in train,
        # with obj_id in the json, or one picture per sentence, as a submission has them.
        by_sentence = folder / info.key
        if by_sentence.is_dir():
            paths = {index: by_sentence / f"{name}.png" for index, name in enumerate(names)}
            return {index: binary_mask_file(path) for index, path in paths.items() if path.exists()}
        if info.object_id is None:
            return {}
        paths = {index: folder / info.video / f"{name}.png" for index, name in enumerate(names)}
        return {index: self._palette_mask(path, info) for index, path in paths.items() if path.exists()}

    def _palette_mask(self, path: Path, info: SampleInfo) -> MaskFile:
        if info.object_id is None or not info.object_id.isdecimal():
            raise LocaterError(f"{self.root / _place(self.split)} gives no object for {info.key}; download it again.")
        return palette_mask_file(path, frozenset({int(info.object_id)}))


def _place(split: str) -> str:
    return f"meta_expressions/{split}/meta_expressions.json"
