"""A2D-Sentences: what actors do in 3,782 clips, two or three frames of each annotated.

Gavrilyuk et al., "Actor and Action Video Segmentation from a Sentence", CVPR 2018, over Xu et al.'s A2D release.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import LazyMasks, LazySource, MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.picture_sequence import need_folder
from locater.datasets.reading.problems import video_problems
from locater.errors import LocaterError
from locater.io.coco_masks import decode_segmentation
from locater.io.extras import data_library
from locater.io.text_files import as_published, find, need, one_line, read_json, read_lines, read_rows
from locater.records import FrameSource, Mask, SampleInfo
from locater.video.reader import open_video

PUBLISHED: Mapping[str, Figures] = {
    "train": {"videos": 3017, "sentences": 5359},
    "test": {"videos": 737, "sentences": 1295, "masks": 3800},
}

_SENTENCES = ("text_annotations/a2d_annotation.txt", "a2d_annotation.txt")
_MISSED = ("text_annotations/a2d_missed_videos.txt", "a2d_missed_videos.txt")
_VIDEOSET = ("Release/videoset.csv", "videoset.csv")
_SPLIT_NUMBER = {"train": "0", "test": "1"}  # the csv's last column
_SPLIT_LIST = {
    "train": ("text_annotations/a2d_train_3017.txt", "a2d_train_3017.txt"),
    "test": ("text_annotations/a2d_test_737.txt", "a2d_test_737.txt"),
}
COCO_MASKS = (  # of the test split, as MTTR publishes them
    "a2d_sentences_test_annotations_in_coco_format.json",
    "text_annotations/a2d_sentences_test_annotations_in_coco_format.json",
)
_COPY = "1 (copy)"  # a slip of the annotators in video T6bNPuKV-wY, which the field drops


def read_sentences(root: Path) -> list[tuple[str, str, str]]:
    """Every row of the official file: video, instance, sentence; `1 (copy)` is still among them."""
    path = need(root, _SENTENCES)
    with as_published(path):
        header, *rows = read_rows(path)
        if header != ["video_id", "instance_id", "query"]:
            raise ValueError(f"the first line is {','.join(header)!r}")
        return [(video, instance, one_line(sentence)) for video, instance, sentence in rows]


def read_missed_videos(root: Path) -> list[str]:
    """The 28 videos of A2D that got no sentence; none when the file is absent."""
    path = find(root, _MISSED)
    return read_lines(path) if path else []


def split_videos(root: Path, split: str) -> list[str]:
    """The videos of a split, by the official csv, or by a list of names where the csv is missing."""
    path = find(root, _VIDEOSET)
    if path is None:
        return read_lines(need(root, (_VIDEOSET[0], *_SPLIT_LIST[split])))
    missed = set(read_missed_videos(root))
    with as_published(path):
        return [row[0] for row in read_rows(path) if row[8].strip() == _SPLIT_NUMBER[split] and row[0] not in missed]


class A2DSentences(ListedDataset):
    """One question per sentence; its masks are those annotated frames in which the instance is present."""

    label = "a2d-sentences"

    def __init__(self, root: Path, split: str) -> None:
        super().__init__(root, split)
        self._mask_root = root / "text_annotations" / "a2d_annotation_with_instances"

    def _listed(self) -> Iterable[SampleInfo]:
        """Every sentence, in the official order; key `<video>/<instance>`."""
        videos = set(split_videos(self.root, self.split))
        rows = [row for row in read_sentences(self.root) if row[0] in videos and row[1] != _COPY]
        queries = Counter(video for video, _, _ in rows)  # one per described instance: the paper's count of objects
        return tuple(
            SampleInfo(
                key=f"{video}/{instance}",
                video=video,
                expression=sentence,
                object_count=queries[video],
                object_id=instance,
            )
            for video, instance, sentence in rows
        )

    def problems(self, infos: Sequence[SampleInfo]) -> Iterator[str]:
        """One line for each missing or broken file behind one video's questions."""
        video = infos[0].video
        readable: list[Path] = []
        try:
            paths = self._h5_paths(video)
        except LocaterError as error:
            yield str(error)
            paths = []
        for path in paths:
            try:
                _read_instances(path)
            except LocaterError as error:
                yield str(error)
            else:
                readable.append(path)
        masks = [LazyMasks(partial(self._masks_among, info, readable)) for info in infos]
        yield from video_problems(LazySource(lambda: self._frames(video)), masks)

    def _frames(self, video: str) -> FrameSource:
        return open_video(need_folder(self.root / "Release" / "clips320H") / f"{video}.mp4")

    def _h5_paths(self, video: str) -> list[Path]:
        """The video's annotated frames; none when the masks come from the COCO file."""
        if self._coco_path is not None:
            return []
        paths = sorted(need_folder(self._mask_root / video).glob("[!.]*.h5"))
        for path in paths:
            if not path.stem.isdecimal():
                raise LocaterError(f"{path} is not named by its frame, such as 00040.h5; download it again.")
        return paths

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        return self._masks_among(info, self._h5_paths(info.video))

    def _masks_among(self, info: SampleInfo, h5_paths: Sequence[Path]) -> dict[int, MaskFile]:
        if self._coco_path is not None:
            return self._coco_masks.get((info.video, str(info.object_id)), {})
        instance = int(str(info.object_id))
        return {
            int(path.stem) - 1: MaskFile(str(path), partial(_read_mask, path, instance))  # numbered from 1
            for path in h5_paths
            if instance in _read_instances(path)
        }

    @cached_property
    def _coco_path(self) -> Path | None:
        """MTTR's file of the test masks, used where the official h5 files are absent."""
        if self._mask_root.exists() or self.split != "test":
            return None
        return find(self.root, COCO_MASKS)

    @cached_property
    def _coco_masks(self) -> dict[tuple[str, str], dict[int, MaskFile]]:
        path = self._coco_path
        assert path is not None
        content = read_json(path)
        masks: dict[tuple[str, str], dict[int, MaskFile]] = {}
        with as_published(path):
            for annotation in content["annotations"]:
                image, runs = annotation["image_id"], annotation["segmentation"]
                parts = re.fullmatch(r"v_(.+)_f_(\d+)_i_(\d+)", image)
                if parts is None:
                    raise ValueError(f"the image id {image!r} is not v_<video>_f_<frame>_i_<instance>")
                height, width = runs["size"]
                name = f"{path} ({image})"
                read = partial(decode_segmentation, runs, height, width, name)
                masks.setdefault((parts[1], parts[3]), {})[int(parts[2]) - 1] = MaskFile(name, read)
        return masks


def _read_instances(path: Path) -> list[int]:
    """The instance ids of one annotated frame."""
    return [int(number) for number in _read_h5(path, "instance").ravel()]


def _read_mask(path: Path, instance: int) -> Mask:
    """One instance's mask, (H, W)."""
    instances = _read_instances(path)
    masks = _read_h5(path, "reMask")  # (N, W, H): written by MATLAB, hence transposed
    if len(instances) == 1 and masks.ndim == 2:
        masks = masks[None]
    if masks.ndim != 3 or len(masks) != len(instances):
        raise LocaterError(
            f"{path} holds masks of shape {masks.shape} for {len(instances)} instances; download it again."
        )
    mask: Mask = masks[instances.index(instance)].T != 0
    return np.ascontiguousarray(mask)


def _read_h5(path: Path, key: str) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    h5py = data_library("h5py")
    try:
        with h5py.File(path, "r") as file:
            return np.asarray(file[key])
    except KeyError:
        raise LocaterError(f"{path} has no '{key}'; download it again.") from None
    except (OSError, RuntimeError, ValueError) as error:  # h5py's words for a cut or foreign file
        raise LocaterError(f"{path} is no readable h5 file ({error}); download it again.") from None
