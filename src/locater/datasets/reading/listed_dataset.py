"""What the datasets here share: questions listed once, files opened when somebody looks, bad ones named."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from locater.datasets.reading.lazy import LazyMasks, LazySource, MaskFile
from locater.datasets.reading.problems import sample_problems
from locater.records import FrameSource, Sample, SampleInfo


class ListedDataset(ABC):
    """A split of a dataset that lies in one folder; an `AnnotatedDataset`."""

    label: str  # goes before the split in its name

    def __init__(self, root: Path, split: str) -> None:
        self.root = root
        self.split = split

    @property
    def name(self) -> str:
        """A short name for reports."""
        return f"{self.label}-{self.split}"

    def samples(self) -> Sequence[SampleInfo]:
        """Every question, in the official order; the annotation files alone are read."""
        return self._samples

    @cached_property
    def _samples(self) -> tuple[SampleInfo, ...]:
        return tuple(self._listed())

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, opened when they are looked at."""
        return Sample(info, LazySource(lambda: self._frames(info.video)), LazyMasks(lambda: self._mask_files(info)))

    def problems(self, infos: Sequence[SampleInfo]) -> Iterator[str]:
        """One line for each missing or broken file behind one video's questions."""
        return sample_problems(self, infos)

    @abstractmethod
    def _listed(self) -> Iterable[SampleInfo]:
        """Every question, from the annotation files."""

    @abstractmethod
    def _frames(self, video: str) -> FrameSource:
        """A video's frames."""

    @abstractmethod
    def _mask_files(self, info: SampleInfo) -> Mapping[int, MaskFile]:
        """A question's masks by frame."""
