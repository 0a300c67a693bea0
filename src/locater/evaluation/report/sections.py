"""What a dataset's report holds beside the scores that every report has: an evaluator makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

from locater.errors import LocaterError
from locater.evaluation.metrics.sample_score import SampleScore
from locater.records import Dataset
from locater.report.tables import Table

DatasetT = TypeVar("DatasetT", bound=Dataset)


@dataclass(frozen=True)
class Sections:
    """Figures for `results.json`, by their keys there, and tables for `results.md`."""

    figures: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()  # after the scores
    details: tuple[Table, ...] = ()  # at the end


NO_SECTIONS = Sections()


class Evaluator(Generic[DatasetT]):
    """What is asked of a dataset and reported on it: its own questions, and nothing beside the scores.

    A dataset with more to tell has an evaluator that overrides this one, registered in `evaluation/run/evaluators.py`.
    """

    def __init__(self, dataset: DatasetT) -> None:
        self.source = dataset

    @property
    def dataset(self) -> Dataset:
        """Every question that is asked."""
        return self.source

    def with_contrasts(self, contrasts: Sequence[str]) -> Self:
        """The same, with joined pairs asked about too; refused where nothing is known of what a video shows."""
        if contrasts:
            raise LocaterError(
                f"--contrast needs to know what each video shows, which {self.source.name} does not say; leave it out, "
                "use davis, or make a contrast set with: locater contrast build."
            )
        return self

    def counted(self, samples: Sequence[SampleScore]) -> Sequence[SampleScore]:
        """The answers that the scores as a whole are made of."""
        return samples

    def answerable(self, samples: Sequence[SampleScore]) -> Sequence[SampleScore]:
        """The answers that should be good, so that a bad one is a failure."""
        return samples

    def sections(self, samples: Sequence[SampleScore]) -> Sections:  # noqa: ARG002 (nothing beside the scores)
        """What its report holds beside the scores of all and of groups."""
        return NO_SECTIONS
