"""Palette masks of several objects per video against DAVIS's ground truth, by the rules of its toolkit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from locater.errors import LocaterError
from locater.evaluation.external.mask_files import MaskFiles, Numbers, open_mask_files
from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.davis import DavisSummary, ObjectGrid, four_annotators
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.io.text_files import find

VOID = 255
# The unsupervised set first: it is what the peers of Ref-DAVIS17 score against.
_PLACES = tuple(
    f"{root}{name}"
    for name in ("Annotations_unsupervised/480p", "Annotations/480p", "Annotations")
    for root in ("DAVIS/", "")
)

ByMode = dict[str, dict[str, float | int | None]]


def open_truth(root: Path) -> MaskFiles:
    """DAVIS's masks: of its root, or of a folder with one folder a video."""
    return open_mask_files((find(root, _PLACES) if root.is_dir() else None) or root)


def score_davis(predictions: MaskFiles, truth: MaskFiles, videos: Sequence[str] | None) -> tuple[ByMode, list[str]]:
    """J, F and J&F in every matching mode, and a sentence for each mode that has none."""
    summary = _summary(predictions, truth, videos, "")
    return summary.result(), summary.notes


def score_annotators(
    predictions: MaskFiles, truth: MaskFiles, videos: Sequence[str] | None
) -> tuple[dict[str, ByMode], list[str]]:
    """The same for each folder `anno_<n>`, and their mean."""
    annotations = sorted({name.partition("/")[0] for name in predictions.names() if name.count("/") == 2})
    if not annotations:
        raise LocaterError(
            "The masks are not laid out as anno_<0 to 3>/<video>/<frame>.png; score a single set as davis."
        )
    summaries = {each: _summary(predictions, truth, videos, f"{each}/") for each in annotations}
    notes = [f"{each}: {note}" for each, summary in summaries.items() for note in summary.notes]
    return four_annotators(summaries), notes


def _summary(predictions: MaskFiles, truth: MaskFiles, videos: Sequence[str] | None, prefix: str) -> DavisSummary:
    frames_of: dict[str, list[str]] = {}
    for name in truth.names():
        video, _, frame = name.rpartition("/")
        frames_of.setdefault(video, []).append(frame)
    if not frames_of:
        raise LocaterError("The ground truth holds no PNG masks; give DAVIS's folder, or its Annotations/480p.")
    unknown = sorted(set(videos or ()) - frames_of.keys())
    if unknown:
        raise LocaterError(f"The ground truth has no masks of {unknown[0]}; check the list of videos.")
    has = {name.removeprefix(prefix).rpartition("/")[0] for name in predictions.names() if name.startswith(prefix)}
    summary = DavisSummary()
    for video in videos if videos is not None else sorted(frames_of):
        if video not in has:
            raise LocaterError(
                f"There are no predicted masks of {prefix}{video}; name the videos to score with --videos."
            )
        summary.add(_grid(video, frames_of[video], predictions, truth, prefix))
    return summary


def _grid(video: str, frames: Sequence[str], predictions: MaskFiles, truth: MaskFiles, prefix: str) -> ObjectGrid:
    true = as_numbers([truth.read(f"{video}/{frame}") for frame in frames])
    predicted = as_numbers([predictions.read(f"{prefix}{video}/{frame}") for frame in frames])
    for frame, one, other in zip(frames, predicted, true, strict=True):
        if one.shape != other.shape:
            raise LocaterError(
                f"{prefix}{video}/{frame}.png is {one.shape[1]} x {one.shape[0]}, its ground truth "
                f"{other.shape[1]} x {other.shape[0]}; masks are scored at the ground truth's own size."
            )
    # The toolkit counts the objects of the first frame, in which all of DAVIS's are visible.
    objects = int(np.where(true[0] == VOID, 0, true[0]).max())
    proposals = max(int(each.max()) for each in predicted)
    rows = max(objects, proposals)
    crossed: list[list[list[FrameCounts]]] = [[[] for _ in range(objects)] for _ in range(rows)]
    fixed: list[list[FrameCounts]] = [[] for _ in range(objects)]
    for one, other in zip(predicted, true, strict=True):
        ours = [PackedMask.of(one == number) for number in range(1, rows + 1)]
        theirs = [PackedMask.of(other == number) for number in range(1, objects + 1)]
        void = PackedMask.of(other == VOID) if (other == VOID).any() else None
        for row, mask in enumerate(ours):
            for column, true_mask in enumerate(theirs):
                crossed[row][column].append(compare(mask, true_mask, void))
        for column, true_mask in enumerate(theirs):
            # The toolkit leaves void pixels out with free identities only.
            counts = crossed[column][column][-1] if void is None else compare(ours[column], true_mask)
            fixed[column].append(counts)
    return ObjectGrid(video, crossed, fixed, has_strangers=proposals > objects)


def as_numbers(pictures: Sequence[Numbers]) -> list[Numbers]:
    """Object numbers; pictures of nothing but 0 and 255 show one object (DAVIS 2016), not void."""
    values = set().union(*(np.unique(each).tolist() for each in pictures))
    return [(each != 0).astype(np.uint8) for each in pictures] if values <= {0, VOID} else list(pictures)
