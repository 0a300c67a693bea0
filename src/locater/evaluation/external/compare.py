"""Two systems' masks of the same questions: every score of both, and how sure their difference is."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from locater.datasets.catalog import Source
from locater.datasets.reading.picture_sequence import PictureSequence, pictures_in
from locater.errors import LocaterError
from locater.evaluation.external.folder_masks import FolderMasks, folder_questions
from locater.evaluation.external.mask_files import MaskFiles, open_mask_files
from locater.evaluation.external.score_davis import VOID, as_numbers, open_truth
from locater.evaluation.external.score_expressions import (
    Question,
    mevis_questions,
    refer_youtube_vos_questions,
    score_question,
)
from locater.evaluation.metrics.bootstrap import Interval, paired_interval
from locater.evaluation.metrics.sample_score import SampleScore
from locater.io.text_files import find
from locater.records import Mask, SampleInfo

SCORES: Mapping[str, Callable[[SampleScore], float | None]] = {
    "J&F": lambda sample: sample.j_and_f,
    "J": lambda sample: sample.j,
    "F": lambda sample: sample.f,
}
Pair = tuple[SampleScore, SampleScore]


@dataclass(frozen=True)
class Comparison:
    """Both systems' answers to every question that has a true mask."""

    names: tuple[str, str]
    dataset_name: str
    pairs: Sequence[Pair]
    questions: Callable[[], Iterator[Question]]  # once more, for their pictures

    def interval(self, score: str, pairs: Sequence[Pair] | None = None) -> Interval | None:
        """The first system's lead over the second in one of `SCORES`, over videos."""
        differences: dict[str, list[float]] = {}
        for first, second in self.pairs if pairs is None else pairs:
            differences.setdefault(first.info.video, []).append(difference((first, second), score))
        return paired_interval(differences)


def difference(pair: Pair, score: str = "J&F") -> float:
    """By how much the first answer is the better one."""
    first, second = (SCORES[score](each) for each in pair)
    assert first is not None and second is not None
    return first - second


def compare(
    first: Path,
    second: Path,
    truth: Source,
    *,
    names: tuple[str, str] | None = None,
    split: str | None = None,
    videos: Sequence[str] | None = None,
) -> Comparison:
    """Both systems scored on every question of the truth, or on those to the listed videos."""
    asked = ASKED.get(truth.name)
    if asked is None:
        raise LocaterError(f"Masks of {truth.name} cannot be compared one by one; give one of {', '.join(ASKED)}.")
    root = truth.find_root()
    assert root is not None
    files = [asked.masks(open_mask_files(path)) for path in (first, second)]

    def questions() -> Iterator[Question]:
        for question in asked.questions(root, truth.find_split(split)):
            if question.masks and (videos is None or question.info.video in videos):
                yield question

    pairs = [(score_question(files[0], each), score_question(files[1], each)) for each in questions()]
    if not pairs:
        raise LocaterError(f"{truth} holds no masks of these videos; check its folder, --split and --videos.")
    return Comparison(names or _names(first, second), f"{truth.name}:{root.name}", pairs, questions)


def _names(first: Path, second: Path) -> tuple[str, str]:
    """What the two are called: as their files, with as much of the path as it takes to tell them apart."""
    one, other = first.resolve(), second.resolve()
    if one == other:
        raise LocaterError(f"{first} and {second} are the same masks; give those of two systems.")
    parts = max(len(one.parts), len(other.parts))
    names = (("/".join(path.parts[-depth:]) for path in (one, other)) for depth in range(1, parts + 1))
    ours, theirs = next((a, b) for a, b in names if a != b)
    return ours, theirs


@dataclass(frozen=True)
class Asked:
    """How a dataset's questions are listed, and how a system's masks are looked up for them."""

    questions: Callable[[Path, str], Iterator[Question]]
    masks: Callable[[MaskFiles], MaskFiles]


def davis_questions(root: Path, _: str) -> Iterator[Question]:
    """A question for each object of each video of DAVIS's ground truth, by its number."""
    truth = open_truth(root)
    frames_of: dict[str, list[str]] = {}
    for name in truth.names():
        video, _, frame = name.rpartition("/")
        frames_of.setdefault(video, []).append(frame)
    for video, frames in frames_of.items():
        numbers = as_numbers([truth.read(f"{video}/{frame}") for frame in frames])
        objects = sorted({int(number) for picture in numbers for number in np.unique(picture)} - {0, VOID})
        for number in objects:
            masks: dict[int, Mask | None] = {place: picture == number for place, picture in enumerate(numbers)}
            info = SampleInfo(f"{video}/{number}", video, f"object {number}", object_count=len(objects))
            yield Question(info, frames, masks, _davis_video(root, video, frames))


def _davis_video(root: Path, video: str, frames: Sequence[str]) -> PictureSequence | None:
    """The video's pictures, where they are beside the masks and as many."""
    sizes = ("480p/", "")
    folder = find(root, tuple(f"{base}JPEGImages/{size}{video}" for base in ("DAVIS/", "") for size in sizes))
    paths = [] if folder is None else [path for path in pictures_in(folder) if path.stem in frames]
    return PictureSequence(video, paths, 24.0) if len(paths) == len(frames) else None


ASKED: Mapping[str, Asked] = {
    "folder": Asked(folder_questions, FolderMasks),
    "davis": Asked(davis_questions, FolderMasks),
    "refer-youtube-vos": Asked(refer_youtube_vos_questions, lambda files: files),
    "mevis": Asked(mevis_questions, lambda files: files),
}
