"""What every dataset here offers beyond `records.Dataset`, so that `locater data check` can name each bad file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from locater.records import Dataset, SampleInfo

# Published figures of one split, by what is counted: videos, objects, sentences or masks. Several numbers are several
# releases of one dataset.
Figures = Mapping[str, int | tuple[int, ...]]


class AnnotatedDataset(Dataset, Protocol):
    """A dataset that can say what is wrong with its files."""

    def problems(self, infos: Sequence[SampleInfo]) -> Iterator[str]:
        """One line for each missing or broken file behind one video's questions; it goes on after each."""
        ...


class ClassedDataset(AnnotatedDataset, Protocol):
    """A dataset that knows what else a video shows, so that a sentence can be told to be wrong for it."""

    def classes_in(self, video: str) -> frozenset[str]:
        """The classes of all that is visible in a video, meant by a sentence or not."""
        ...

    def wrong_sentences(self, video: str) -> Mapping[str, Sequence[str]]:
        """Sentences written to be mistaken that mean nothing of a video's object, by kind: far, kin, attribute."""
        ...

    def crowd_sentences(self, video: str) -> Sequence[str]:
        """Right sentences that tell a video's object from its look-alikes."""
        ...
