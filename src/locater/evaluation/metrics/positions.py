"""How often the one on the meant side is chosen, of two things of one class."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.records import Mask
from locater.worlds.composed.position_world import PositionWorld

MARKED = 0.5  # mean IoU from which the meant one is marked, not just its side of the picture

Row = dict[str, float | int | None]


@dataclass(frozen=True)
class Choice:
    """One question's answer, seen over its whole video."""

    video: str
    side: str
    noun: str
    is_one_picture: bool
    is_right: bool
    is_empty: bool  # in every frame
    iou: float  # mean over frames, with the meant one


def choice(world: PositionWorld, sample: SampleScore) -> Choice:
    """Which of the two was chosen; the one that the masks of all frames together have the larger IoU with."""
    counts = [frame.counts for frame in sample.frames]
    meant = sum(each.intersection for each in counts), sum(each.union for each in counts)
    other = _overlap(sample, world.other(sample.info))
    scene = world.scene(sample.info)
    return Choice(
        video=sample.info.video,
        side=sample.info.kind,
        noun=scene.noun,
        is_one_picture=scene.is_one_picture,
        is_right=meant[0] * other[1] > other[0] * meant[1],  # in whole numbers; an empty answer chooses neither
        is_empty=all(each.predicted_area == 0 for each in counts),
        iou=sample.j or 0.0,
    )


@dataclass(frozen=True)
class PositionResults:
    """A row over all, each side, and one or two pictures; and a row for each noun asked about."""

    rows: dict[str, Row]
    nouns: dict[str, Row]


def position_results(world: PositionWorld, samples: Sequence[SampleScore]) -> PositionResults:
    """What was chosen, counted."""
    choices = [choice(world, sample) for sample in samples]
    rows: dict[str, Callable[[Choice], bool]] = {
        "all": lambda _: True,
        "left": lambda each: each.side == "left",
        "right": lambda each: each.side == "right",
        "two_pictures": lambda each: not each.is_one_picture,
        "one_picture_twice": lambda each: each.is_one_picture,
    }
    groups = {name: [each for each in choices if belongs(each)] for name, belongs in rows.items()}
    nouns = {noun: [each for each in choices if each.noun == noun] for noun in sorted({each.noun for each in choices})}
    return PositionResults(
        rows={name: _row(group) for name, group in groups.items() if group},
        nouns={noun: _row(group) for noun, group in nouns.items()},
    )


def _row(choices: Sequence[Choice]) -> Row:
    of_scene: dict[str, list[bool]] = {}
    for each in choices:
        of_scene.setdefault(each.video, []).append(each.is_right)
    return {
        "questions": len(choices),
        "chosen_right": mean([float(each.is_right) for each in choices]),
        "marked_right": mean([float(each.is_right and each.iou >= MARKED) for each in choices]),
        "both_right": mean([float(all(pair)) for pair in of_scene.values() if len(pair) == 2]),
        "miou": mean([each.iou for each in choices]),
        "empty_share": mean([float(each.is_empty) for each in choices]),
    }


def _overlap(sample: SampleScore, masks: Mapping[int, Mask]) -> tuple[int, int]:
    """Pixels in both and in either, over all frames."""
    intersection = union = 0
    for frame in sample.frames:
        predicted, true = sample.predictions[frame.index].mask(), masks[frame.index]
        intersection += int(np.count_nonzero(predicted & true))
        union += int(np.count_nonzero(predicted | true))
    return intersection, union
