"""DAVIS 2016 with our own sentences: real videos of one thing each, to see whether words and masks hold in the wild.

Perazzi et al., "A Benchmark Dataset and Evaluation Methodology for Video Object Segmentation", CVPR 2016. It has no
sentences; `davis_sentences.tsv` holds ours: a noun, an attribute and an action for each of the 30 train sequences, and
the classes of what can be seen in it. Its mask joins a rider and what is ridden, so a sentence describes that whole.

Two files make it harder. `davis_wrong_sentences.tsv` names what a sequence does not show: something else altogether
(`far`), near kin of its object (`kin`, "the cow" where a dog runs), or the object's own noun with what is only true of
its look-alike (`attribute`). `davis_crowd_sentences.tsv` tells the object from its look-alikes, where it has any.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise
from pathlib import Path

from locater.datasets.annotated import Figures
from locater.datasets.reading.lazy import MaskFile
from locater.datasets.reading.listed_dataset import ListedDataset
from locater.datasets.reading.mask_pictures import binary_mask_file
from locater.datasets.reading.picture_sequence import PictureSequence, need_folder, pictures_in
from locater.io.text_files import need
from locater.records import SampleInfo

PUBLISHED: Mapping[str, Figures] = {"train": {"videos": 30, "sentences": 90}}

KINDS = ("noun", "attribute", "action")
_FRAMES_PER_SECOND = 24.0
_SIZES = ("480p/", "1080p/", "")  # the official folders, then pictures somebody made smaller


@dataclass(frozen=True)
class DescribedSequence:
    """What is said of one sequence."""

    classes: frozenset[str]  # of all that is visible in it, not of the object alone
    sentences: Mapping[str, str]  # by kind


@cache
def described_sequences() -> Mapping[str, DescribedSequence]:
    """Every sequence of the file of sentences, by its name."""
    text = (resources.files("locater.datasets") / "davis_sentences.tsv").read_text("utf-8")
    return {
        row["sequence"]: DescribedSequence(frozenset(row["classes"].split(", ")), {kind: row[kind] for kind in KINDS})
        for row in csv.DictReader(text.splitlines(), delimiter="\t")
    }


@cache
def further_sentences(file: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """A file's sentences by sequence and kind, in its order."""
    text = (resources.files("locater.datasets") / file).read_text("utf-8")
    sentences: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in described_sequences()}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        of_kind = sentences[row["sequence"]]
        of_kind[row["kind"]] = (*of_kind.get(row["kind"], ()), row["sentence"])
    return sentences


class DavisSentences(ListedDataset):
    """One question per sentence, key `<sequence>/<kind>`; every frame has its mask."""

    label = "davis"

    def _listed(self) -> Iterable[SampleInfo]:
        """Every sentence: the sequences by name, the three kinds in turn."""
        _ = self._picture_root  # another folder than DAVIS's is noticed before anything is computed
        return [
            SampleInfo(f"{sequence}/{kind}", sequence, sentence, kind, object_id="1")
            for sequence, described in described_sequences().items()
            for kind, sentence in described.sentences.items()
        ]

    def classes_in(self, video: str) -> frozenset[str]:
        """The classes of all that is visible in a sequence."""
        return described_sequences()[video].classes

    def wrong_sentences(self, video: str) -> Mapping[str, Sequence[str]]:
        """Sentences for which nothing of a sequence's object may be marked, by kind: far, kin, attribute."""
        return further_sentences("davis_wrong_sentences.tsv")[video]

    def crowd_sentences(self, video: str) -> Sequence[str]:
        """Right sentences that tell a sequence's object from its look-alikes; none where it has no look-alike."""
        return further_sentences("davis_crowd_sentences.tsv")[video].get("crowd", ())

    def _frames(self, video: str) -> PictureSequence:
        paths = pictures_in(self._picture_root / video)
        return PictureSequence(video, paths, _frames_per_second([path.stem for path in paths]))

    def _mask_files(self, info: SampleInfo) -> dict[int, MaskFile]:
        folder = need_folder(self._mask_root / info.video)
        names = [path.stem for path in pictures_in(self._picture_root / info.video)]
        return {index: binary_mask_file(folder / f"{name}.png") for index, name in enumerate(names)}

    @cached_property
    def _picture_root(self) -> Path:
        return need(self.root, _places("JPEGImages"))

    @cached_property
    def _mask_root(self) -> Path:
        return need(self.root, _places("Annotations"))


def _places(folder: str) -> list[str]:
    """Where the sequences' folders may lie: DAVIS may be unpacked inside the folder, or be the folder."""
    return [f"{davis}{folder}/{size}" for size in _SIZES for davis in ("DAVIS/", "")]


def _frames_per_second(names: Sequence[str]) -> float:
    """DAVIS's 24, or as much less as the frames' numbers leap: 00000, 00002, 00004 are 12 frames per second."""
    leaps = [int(later) - int(earlier) for earlier, later in pairwise(names) if (earlier + later).isdecimal()]
    return _FRAMES_PER_SECOND / max(1, min(leaps, default=1))
