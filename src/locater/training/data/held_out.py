"""What of a folder of videos is learned from, and what is held out to tell whether that helped."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from locater.datasets.folder import FolderDataset
from locater.errors import LocaterError
from locater.records import Dataset, Mask, Sample, SampleInfo

TRAINING_SPLIT, VALIDATION_SPLITS = "train", ("valid", "val", "validation", "test")
FEWEST_VIDEOS = 5  # with fewer, frames are held out: a fifth of the videos would be none, or half of the data
SHARE_OF_VIDEOS, SHARE_OF_FRAMES = 0.2, 0.25
FEWEST_FRAMES = 4  # annotated ones of a video whose end is held out


@dataclass(frozen=True)
class HeldOut:
    """The two parts, and how they were parted, for people."""

    training: Dataset
    validation: Dataset
    how: str


class Part:
    """Some questions of a dataset, with their masks of some frames."""

    def __init__(self, dataset: Dataset, infos: Sequence[SampleInfo], frames: Mapping[str, frozenset[int]]) -> None:
        self._dataset = dataset
        self._infos = tuple(infos)
        self._frames = frames  # by video: those whose masks are kept; a video that is not named keeps all

    @property
    def name(self) -> str:
        """The whole dataset's."""
        return self._dataset.name

    def samples(self) -> Sequence[SampleInfo]:
        """Its questions, in the dataset's order."""
        return self._infos

    def load(self, info: SampleInfo) -> Sample:
        """One question; the video's other frames are there without their masks."""
        sample = self._dataset.load(info)
        kept = self._frames.get(info.video)
        return sample if kept is None else replace(sample, masks=_SomeMasks(sample.masks, kept))


class _SomeMasks(Mapping[int, Mask]):
    def __init__(self, masks: Mapping[int, Mask], kept: frozenset[int]) -> None:
        self._masks = masks
        self._indices = [index for index in masks if index in kept]

    def __getitem__(self, index: int) -> Mask:
        if index not in self._indices:
            raise KeyError(index)
        return self._masks[index]

    def __contains__(self, index: object) -> bool:  # Mapping's own would read the mask
        return index in self._indices

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


def held_out(folder: FolderDataset, seed: int) -> HeldOut:
    """The folder's own split, or whole videos, or the last frames of each, whichever its size allows."""
    annotated = {info.key: frozenset(folder.load(info).masks) for info in folder.samples()}
    if not any(annotated.values()):
        raise LocaterError(f"{folder.root} has no masks to learn from; docs/datasets.md shows where they belong.")
    named = next((split for split in VALIDATION_SPLITS if split in folder.splits()), None)
    if named is not None:
        return _by_table(folder, named)
    infos = [info for info in folder.samples() if annotated[info.key]]
    videos = list(dict.fromkeys(info.video for info in infos))
    if len(videos) >= FEWEST_VIDEOS:
        return _by_videos(folder, infos, videos, seed)
    frames = {
        video: sorted(frozenset().union(*(annotated[info.key] for info in infos if info.video == video)))
        for video in videos
    }
    return _by_frames(folder, infos, frames)


def _by_table(folder: FolderDataset, split: str) -> HeldOut:
    training, validation = FolderDataset(folder.root, TRAINING_SPLIT), FolderDataset(folder.root, split)
    learned = {_question(info) for info in training.samples()}
    only = [info for info in validation.samples() if _question(info) not in learned]
    if not only:
        raise LocaterError(
            f"Every line of {folder.root}'s split '{split}' is learned from too; give it lines of its own."
        )
    parts = (_with_masks(training, training.samples()), _with_masks(validation, only))
    for part, name in zip(parts, (TRAINING_SPLIT, split), strict=True):
        if not part.samples():
            raise LocaterError(f"No sentence of {folder.root}'s split '{name}' has masks; docs/datasets.md shows how.")
    return HeldOut(*parts, f"the {len(only)} sentences of the split '{split}'")


def _by_videos(folder: FolderDataset, infos: Sequence[SampleInfo], videos: list[str], seed: int) -> HeldOut:
    chosen = set(Random(seed).sample(videos, round(SHARE_OF_VIDEOS * len(videos))))
    parts = ([info for info in infos if (info.video in chosen) == is_held] for is_held in (False, True))
    training, validation = (Part(folder, part, {}) for part in parts)
    return HeldOut(training, validation, f"{len(chosen)} of {len(videos)} videos: {', '.join(sorted(chosen))}")


def _by_frames(folder: FolderDataset, infos: Sequence[SampleInfo], frames: Mapping[str, Sequence[int]]) -> HeldOut:
    """In one piece, from the end: neighbours in time are so alike that scattered frames would hold nothing out."""
    cuts = {video: round((1 - SHARE_OF_FRAMES) * len(each)) for video, each in frames.items()}
    early = {video: frozenset(each[: cuts[video]]) for video, each in frames.items()}
    late = {video: frozenset(each[cuts[video] :]) for video, each in frames.items() if len(each) >= FEWEST_FRAMES}
    if not late:
        whole = Part(folder, infos, {})
        how = "nothing, for there are too few masks: the scores below are of frames that were learned from"
        return HeldOut(whole, whole, how)
    learned = {video: early[video] if video in late else frozenset(each) for video, each in frames.items()}
    training = _with_masks(Part(folder, infos, learned), infos)
    validation = _with_masks(Part(folder, infos, late), [info for info in infos if info.video in late])
    return HeldOut(training, validation, "the last quarter of each video's annotated frames")


def _with_masks(dataset: Dataset, infos: Sequence[SampleInfo]) -> Part:
    return Part(dataset, [info for info in infos if len(dataset.load(info).masks)], {})


def _question(info: SampleInfo) -> tuple[str, str, str | None]:
    return info.video, info.expression, info.object_id
