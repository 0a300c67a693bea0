"""J-HMDB-Sentences: one person's action in each of 928 short clips, test only, with a model trained on A2D-Sentences.

Jhuang et al.'s J-HMDB (puppet masks), with the sentences of Gavrilyuk et al., CVPR 2018.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder, pictures_in
from locater.errors import LocaterError
from locater.io.extras import data_library
from locater.io.text_files import as_published, find, need, one_line, read_json, read_rows
from locater.records import FrameSource, Mask, SampleInfo

PUBLISHED: Mapping[str, Figures] = {"test": {"videos": 928, "sentences": 928, "masks": 2784}}

_FIXED_FRAMES = "jhmdb_sentences_samples_metadata.json"  # MTTR's; the three frames per video on which the field scores
_FRAMES_PER_SECOND = 30.0  # of HMDB51's clips; the pictures carry no clock


class JhmdbSentences(ListedDataset):
    """One question per clip; its masks are the field's fixed three frames, or all, when that list is not beside it."""

    label = "jhmdb-sentences"

    def _listed(self) -> Iterable[SampleInfo]:
        """Every clip's sentence, in the official order; the key is the clip's name."""
        path = need(self.root, ("jhmdb_annotation.txt",))
        with as_published(path):
            header, *rows = read_rows(path)
            if header != ["video_id", "query"]:
                raise ValueError(f"the first line is {','.join(header)!r}")
            # One puppet per clip is annotated, whoever else is in the picture.
            return tuple(
                SampleInfo(key=video, video=video, expression=one_line(sentence), object_count=1, object_id="0")
                for video, sentence in rows
            )

    @cached_property
    def _fixed_frames(self) -> dict[str, list[tuple[int, Path]]]:
        """The frames to score, numbered from 0, with their mask files; empty when there is no such list."""
        path = find(self.root, (_FIXED_FRAMES,))
        if path is None:
            return {}
        frames: dict[str, list[tuple[int, Path]]] = {}
        rows = read_json(path)
        with as_published(path):
            for video, picture, mat, _, _ in rows:
                index = int(Path(picture).stem) - 1  # pictures are numbered from 1
                here = self.root.joinpath(*Path(mat).parts[-4:])  # puppet_mask/<action>/<video>/puppet_mask.mat
                frames.setdefault(video, []).append((index, here))
        return frames

    def _frames(self, video: str) -> FrameSource:
        pictures = pictures_in(self._folder("Rename_Images", self._picture_folders, video))
        # The last frames of some clips have no mask; as in the field's code, they are left out.
        return PictureSequence(video, pictures[: _mask_count(self._mat(video))], _FRAMES_PER_SECOND)

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        places = self._fixed_frames.get(info.video)
        if places is None:
            path = self._mat(info.video)
            places = [(index, path) for index in range(_mask_count(path))]
        return {
            index: MaskFile(f"{path} (frame {index + 1})", partial(_read_mask, path, index)) for index, path in places
        }

    def _mat(self, video: str) -> Path:
        return self._folder("puppet_mask", self._mask_folders, video) / "puppet_mask.mat"

    def _folder(self, branch: str, folders: Mapping[str, Path], video: str) -> Path:
        if video not in folders:
            raise LocaterError(f"{self.root / branch} has no folder <action>/{video}; download it again.")
        return folders[video]

    @cached_property
    def _picture_folders(self) -> dict[str, Path]:
        return _folders_by_video(self.root / "Rename_Images")

    @cached_property
    def _mask_folders(self) -> dict[str, Path]:
        return _folders_by_video(self.root / "puppet_mask")


def _folders_by_video(branch: Path) -> dict[str, Path]:
    """The folders two levels down, <action>/<video>, by their names."""
    return {folder.name: folder for folder in sorted(need_folder(branch).glob("*/*")) if folder.is_dir()}


def _mask_count(path: Path) -> int:
    """How many frames have a mask, from the file's header."""
    arrays = {name: shape for name, shape, _ in _mat_call("whosmat", path)}
    if "part_mask" not in arrays:
        raise _no_masks(path)
    shape = arrays["part_mask"]
    return int(shape[2]) if len(shape) == 3 else 1  # MATLAB drops a last axis of one


def _read_mask(path: Path, index: int) -> Mask:
    content = _mat_call("loadmat", path)
    if "part_mask" not in content:
        raise _no_masks(path)
    masks = np.atleast_3d(content["part_mask"])  # (H, W, T)
    if index >= masks.shape[2]:
        raise LocaterError(f"{path} has {masks.shape[2]} masks, so none for frame {index + 1}; download it again.")
    return np.ascontiguousarray(masks[:, :, index] != 0)


def _no_masks(path: Path) -> LocaterError:
    return LocaterError(f"{path} has no 'part_mask'; download it again.")


def _mat_call(function: str, path: Path) -> Any:
    need_folder(path.parent)
    if not path.exists():
        raise LocaterError(f"{path} is missing; download it again.")
    scipy_io = data_library("scipy.io")
    try:
        return getattr(scipy_io, function)(str(path))
    except Exception as error:  # scipy raises a dozen kinds on a cut file: zlib's, struct's, its own
        raise LocaterError(f"{path} is no readable mat file ({error}); download it again.") from None
