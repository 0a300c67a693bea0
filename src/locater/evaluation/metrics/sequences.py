"""The scores of each sequence on its own, over all its sentences."""

from collections.abc import Sequence

from locater.evaluation.metrics.sample_score import SampleScore
from locater.evaluation.metrics.summary import Scores, summarise

SEQUENCE_SCORES = (
    "j",
    "f",
    "j&f",
    "flicker",
    "flicker_of_overlap",
    "flicker_of_area",
    "stability",
    "truth_stability",
)


def by_sequence(samples: Sequence[SampleScore]) -> dict[str, Scores]:
    """The number of questions and the scores above, by the sequence's name."""
    groups: dict[str, list[SampleScore]] = {}
    for sample in samples:
        groups.setdefault(sample.info.video, []).append(sample)
    result: dict[str, Scores] = {}
    for video in sorted(groups):
        scores = summarise(groups[video])
        result[video] = {name: scores[name] for name in ("samples", *SEQUENCE_SCORES)}
    return result
