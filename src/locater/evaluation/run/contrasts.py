"""Questions that show whether the words decide: sentences that are wrong for a video, and two videos joined as one.

A network that marks whatever stands out scores well on videos of one thing, whatever it is asked. It is told from one
that listens by a sentence of another video, and by two videos at once of which a sentence means one. A sentence of
another video seldom names near kin, so a dataset may bring wrong sentences that were written for each of its videos.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from locater.contrast.joined import one_after_the_other, side_by_side
from locater.datasets.annotated import ClassedDataset
from locater.datasets.reading.lazy import LazyMasks, MaskFile
from locater.errors import LocaterError
from locater.records import Sample, SampleInfo

WRONG = "wrong"
WRITTEN = ("wrong_far", "wrong_kin", "wrong_attribute")  # apart from `attribute`, which is a kind of right sentence too
CROWD = "crowd"
_JOINING: Mapping[str, Callable[[SampleInfo, Sample, Sample, bool], Sample]] = {
    "spatial": side_by_side,
    "temporal": one_after_the_other,
}
CONTRASTS = tuple(_JOINING)
_SEED = "0"  # fixed: two networks are asked the same


@dataclass(frozen=True)
class _Pair:
    query: SampleInfo
    contrast: SampleInfo
    query_first: bool


class ContrastedDataset:
    """A dataset's own questions, each beside a wrong one of its kind, its hard ones, then the pairs asked for.

    Wrong sentences and partners come from videos that share no class with the one asked about. They are drawn by a
    hash of the names, so that they depend neither on an order nor on how many are asked.
    """

    def __init__(self, dataset: ClassedDataset, contrasts: Sequence[str] = ()) -> None:
        for each in contrasts:
            if each not in CONTRASTS:
                raise LocaterError(
                    f"There is no contrast '{each}'; choose {' or '.join(CONTRASTS)}, or both with a comma."
                )
        self._dataset = dataset
        self._contrasts = contrasts

    @property
    def name(self) -> str:
        """The dataset's own: its answers stay good when contrasts are added."""
        return self._dataset.name

    def samples(self) -> Sequence[SampleInfo]:
        """Video by video the right, the wrong and the hard sentences, then the pairs."""
        added: dict[str, list[SampleInfo]] = {}
        for info in (*self._wrong, *self._written, *self._crowd):
            added.setdefault(info.video, []).append(info)
        own = [info for video, right in self._infos.items() for info in (*right, *added.get(video, ()))]
        return [*own, *self._pairs]

    def load(self, info: SampleInfo) -> Sample:
        """One question's frames and masks, joined where it is about two videos."""
        if info in self._pairs:
            pair = self._pairs[info]
            query, contrast = self._dataset.load(pair.query), self._dataset.load(pair.contrast)
            return _JOINING[info.kind](info, query, contrast, pair.query_first)
        if info in self._crowd:
            return replace(self._dataset.load(self._crowd[info]), info=info)
        if info in self._wrong or info in self._written:
            sample = self._dataset.load((self._wrong | self._written)[info])
            return replace(sample, info=info, masks=LazyMasks(lambda: _visible(sample)))
        return self._dataset.load(info)

    @cached_property
    def _infos(self) -> Mapping[str, list[SampleInfo]]:
        infos: dict[str, list[SampleInfo]] = {}
        for info in self._dataset.samples():
            infos.setdefault(info.video, []).append(info)
        return infos

    def _strangers(self, video: str) -> list[SampleInfo]:
        """The sentences of every video that shows nothing of what this one shows."""
        classes = self._dataset.classes_in(video)
        strange = [other for other in self._infos if not classes & self._dataset.classes_in(other)]
        return [info for other in strange for info in self._infos[other]]

    @cached_property
    def _wrong(self) -> dict[SampleInfo, SampleInfo]:
        """A wrong sentence for each right one, of the same kind."""
        wrong: dict[SampleInfo, SampleInfo] = {}
        for video, infos in self._infos.items():
            strangers = self._strangers(video)
            for right in infos:
                others = [other for other in strangers if other.kind == right.kind]
                if others:
                    sentence = _drawn(others, WRONG, right.key).expression
                    wrong[replace(right, key=f"{right.key}/{WRONG}", expression=sentence, kind=WRONG)] = right
        return wrong

    @cached_property
    def _written(self) -> dict[SampleInfo, SampleInfo]:
        """The wrong sentences that were written for each video, with one of its right ones."""
        return {
            _asked(infos[0], f"{WRONG}_{kind}", number, sentence): infos[0]
            for video, infos in self._infos.items()
            for kind, sentences in self._dataset.wrong_sentences(video).items()
            for number, sentence in enumerate(sentences, 1)
        }

    @cached_property
    def _crowd(self) -> dict[SampleInfo, SampleInfo]:
        """The further right sentences of each video, with one that it has anyway."""
        return {
            _asked(infos[0], CROWD, number, sentence): infos[0]
            for video, infos in self._infos.items()
            for number, sentence in enumerate(self._dataset.crowd_sentences(video), 1)
        }

    @cached_property
    def _pairs(self) -> Mapping[SampleInfo, _Pair]:
        """Every video with a partner, asked about once as the left or first and once as the right or second."""
        pairs: dict[SampleInfo, _Pair] = {}
        for contrast in self._contrasts:
            for video, infos in self._infos.items():
                others = self._strangers(video)
                if not others:
                    continue
                query, other = _drawn(infos, contrast, video), _drawn(others, contrast, video)
                for place in ("first", "second"):
                    joined = f"{contrast}/{video}+{other.video}/{place}"  # the query gives size and length
                    info = SampleInfo(joined, joined, query.expression, contrast, object_id=query.object_id)
                    pairs[info] = _Pair(query, other, place == "first")
        return pairs


def _asked(right: SampleInfo, kind: str, number: int, sentence: str) -> SampleInfo:
    """Another question about the same object."""
    return replace(right, key=f"{right.video}/{kind}/{number}", expression=sentence, kind=kind)


def _drawn(infos: Sequence[SampleInfo], *names: str) -> SampleInfo:
    """One of them, by lot, and the same one whenever these names are given."""
    return min(infos, key=lambda info: hashlib.sha256("\0".join((_SEED, *names, info.key)).encode()).digest())


def _visible(sample: Sample) -> dict[int, MaskFile]:
    """The frames in which the thing is seen: elsewhere an empty mask is right, whatever was asked."""
    masks = sample.masks
    return {
        index: MaskFile(f"{sample.info.video}, frame {index}", partial(masks.__getitem__, index))
        for index in masks
        if masks[index].any()
    }
