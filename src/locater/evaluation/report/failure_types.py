"""The report on the failure types of section 5.8: what was marked, of what a sentence fits and of others."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.report.sections import Evaluator, Sections
from locater.records import Mask
from locater.report.tables import Table, percent
from locater.worlds.failures.staging import KINDS
from locater.worlds.failures.world import FailureWorld

MARKED = 0.5  # of a thing's pixels, over all frames, from which it counts as marked
_TITLES = {
    "binding": "attribute binding: whose is the colour?",
    "ambiguity": "ambiguity: the sentence fits two",
    "reflection": "reflection: the thing or its image?",
}
_COLUMNS = {
    "exactly": "what fits, alone",
    "part": "one of two that fit",
    "more": "another as well",
    "instead": "another instead",
    "nothing": "nothing",
    "both_questions": "both questions of a scene",
    "miou": "mIoU",
}

Row = dict[str, float | int | None]


class FailureTypesEvaluator(Evaluator[FailureWorld[Any]]):
    """What was marked, by failure type."""

    def sections(self, samples: Sequence[SampleScore]) -> Sections:
        """`failure_types`."""
        found = failure_results(self.source, samples)
        rows = [
            [_TITLES[kind], str(row["questions"]), *(percent(row[column]) for column in _COLUMNS)]
            for kind, row in found.items()
        ]
        table = Table("What was marked, by failure type", ["", "questions", *_COLUMNS.values()], rows)
        return Sections({"failure_types": found}, (table,))


def failure_results(world: FailureWorld[Any], samples: Sequence[SampleScore]) -> dict[str, Row]:
    """A row for each failure type asked: shares of its questions, each of one outcome, and mIoU."""
    rows: dict[str, Row] = {}
    for kind in KINDS:
        some = [sample for sample in samples if sample.info.kind == kind]
        if some:
            rows[kind] = _row([outcome(world, sample) for sample in some], some)
    return rows


def outcome(world: FailureWorld[Any], sample: SampleScore) -> str:
    """Which of the outcomes an answer is."""
    meant = [_is_marked(sample, masks) for masks in world.meant(sample.info)]
    others = [_is_marked(sample, masks) for masks in world.others(sample.info)]
    if not any(meant):
        return "instead" if any(others) else "nothing"
    if any(others):
        return "more"
    return "exactly" if all(meant) else "part"


def _row(outcomes: Sequence[str], samples: Sequence[SampleScore]) -> Row:
    of_scene: dict[str, list[bool]] = {}
    for each, sample in zip(outcomes, samples, strict=True):
        of_scene.setdefault(sample.info.video, []).append(each == "exactly")
    pairs = [all(scene) for scene in of_scene.values() if len(scene) == 2]
    shares = {name: outcomes.count(name) / len(outcomes) for name in ("exactly", "part", "more", "instead", "nothing")}
    return {
        "questions": len(outcomes),
        **shares,
        "both_questions": mean([float(pair) for pair in pairs]),
        "miou": mean([sample.j or 0.0 for sample in samples]),
    }


def _is_marked(sample: SampleScore, masks: Mapping[int, Mask]) -> bool:
    covered = area = 0
    for frame in sample.frames:
        true = masks[frame.index]
        covered += int(np.count_nonzero(sample.predictions[frame.index].mask() & true))
        area += int(np.count_nonzero(true))
    return covered > MARKED * area
