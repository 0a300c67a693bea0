"""One mask a sentence and frame against Refer-YouTube-VOS, MeViS and their like: J&F of each sentence, their mean."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from locater.datasets.reading.meta_expressions import DescribedVideo, read_meta_expressions
from locater.errors import LocaterError
from locater.evaluation.external.mask_files import MaskFiles, read_mask
from locater.evaluation.external.submission import frame_names
from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.evaluation.metrics.sample_score import Drawn, FrameScore, SampleScore
from locater.io.coco_masks import decode_segmentation
from locater.io.text_files import need, read_json
from locater.records import FrameSource, Mask, SampleInfo


@dataclass(frozen=True)
class Question:
    """A sentence with its frames' names and its true masks by place; None: nothing to see, of whatever size."""

    info: SampleInfo
    frames: Sequence[str]
    masks: Mapping[int, Mask | None]
    video: FrameSource | None = None  # for pictures, where it is at hand


def score_questions(
    predictions: MaskFiles, questions: Iterator[Question], videos: Sequence[str] | None
) -> list[SampleScore]:
    """Every sentence's score; of the listed videos alone, where a list is given."""
    wanted = None if videos is None else frozenset(videos)
    scores = [score_question(predictions, each) for each in questions if wanted is None or each.info.video in wanted]
    if not any(score.frames for score in scores):
        raise LocaterError("The ground truth holds no masks of these videos; check its folder, --split and --videos.")
    return scores


def refer_youtube_vos_questions(root: Path, split: str) -> Iterator[Question]:
    """The sentences of a Refer-YouTube-VOS folder whose masks are there."""
    from locater.datasets.refer_youtube_vos import ReferYouTubeVos

    dataset = ReferYouTubeVos(root, split)
    for info in dataset.samples():
        sample = dataset.load(info)
        yield Question(info, frame_names(sample.frames, info.video), sample.masks, sample.frames)


def mevis_questions(root: Path, split: str) -> Iterator[Question]:
    """The sentences of a MeViS folder with the union of their objects; the videos' frames need not be there."""
    described = read_meta_expressions(need(root, (f"{split}/meta_expressions.json", "meta_expressions.json")))
    path = need(root, (f"{split}/mask_dict.json", "mask_dict.json"))
    tracks = read_json(path)
    if not isinstance(tracks, dict):
        raise LocaterError(f"{path} is not laid out as published: no table; download it again.")
    for name, video in described.items():
        for number, expression in video.expressions.items():
            key = f"{name}/{number}"
            if expression.annotation_ids is None:
                raise LocaterError(
                    f"{root} says of no sentence which objects it means (anno_id); {key} cannot be scored."
                )
            masks = _union_masks(tracks, expression.annotation_ids, video, path)
            yield Question(SampleInfo(key, name, expression.text, object_count=video.object_count), video.frames, masks)


def _union_masks(
    tracks: Mapping[str, object], ids: Sequence[str], video: DescribedVideo, path: Path
) -> dict[int, Mask | None]:
    chosen: list[list[object]] = []
    for each in ids:
        track = tracks.get(each)
        if not isinstance(track, list) or len(track) != len(video.frames):
            raise LocaterError(f"{path} has no track {each} of {len(video.frames)} frames; download it again.")
        chosen.append(track)
    masks: dict[int, Mask | None] = {}
    for index in range(len(video.frames)):
        runs = [track[index] for track in chosen if track[index] is not None]
        parts = [decode_segmentation(each, 0, 0, f"{path} (frame {index + 1})") for each in runs]
        if len({part.shape for part in parts}) > 1:
            raise LocaterError(f"{path} holds masks of different sizes in one frame; download it again.")
        masks[index] = np.logical_or.reduce(parts) if parts else None
    return masks


def score_question(predictions: MaskFiles, question: Question) -> SampleScore:
    """One sentence's score, with its masks."""
    frames: list[FrameScore] = []
    steadiness: list[float] = []
    drawn: dict[int, Drawn] = {}
    last: PackedMask | None = None
    for index in sorted(question.masks):
        name = f"{question.info.key}/{question.frames[index]}"
        mask, true = read_mask(predictions, name), question.masks[index]
        if true is not None and mask.shape != true.shape:
            raise LocaterError(
                f"{name}.png is {mask.shape[1]} x {mask.shape[0]}, its ground truth {true.shape[1]} x {true.shape[0]}; "
                "masks are scored at the ground truth's own size."
            )
        packed, drawn[index] = PackedMask.of(mask), Drawn.of(mask)
        truth = PackedMask(0, packed.layout) if true is None else PackedMask.of(true)
        frames.append(FrameScore(index, compare(packed, truth), 1.0))
        if last is not None and last.layout == packed.layout:
            steadiness.append(compare(packed, last).iou)
        last = packed
    return SampleScore(question.info, tuple(frames), len(question.frames), mean(steadiness), predictions=drawn)
