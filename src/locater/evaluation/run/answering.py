"""One pass over a video: its questions answered together and compared with the truth, frame by frame."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch

from locater.errors import LocaterError
from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.exact_mean import mean
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.evaluation.metrics.sample_score import Drawn, FrameScore, SampleScore
from locater.inference.async_results import THRESHOLD
from locater.inference.averaged_views import PLAIN
from locater.inference.chunk_length import chunk_frames_of
from locater.inference.segmenter import Segmenter
from locater.records import FrameResult, Mask, Sample, Views
from locater.video.transforms import resize_soft

Masks = npt.NDArray[np.bool_]  # (E, H, W)
SoftMasks = npt.NDArray[np.float32]  # (E, H, W)

BACKGROUND = 0.1  # Ref-DAVIS17's constant, as the field's scripts have it


def compete(soft: SoftMasks) -> Masks:
    """Ref-DAVIS17's merging: values below one half become 0, then each pixel goes to the strongest object."""
    kept = np.where(soft < THRESHOLD, np.float32(0), soft)
    background = np.full((1, *soft.shape[1:]), BACKGROUND, dtype=np.float32)
    winner = np.concatenate([background, kept]).argmax(axis=0)
    masks: Masks = winner[None] == np.arange(1, len(soft) + 1)[:, None, None]
    return masks


def answer(
    segmenter: Segmenter,
    samples: Sequence[Sample],
    *,
    keep_every_frame: bool = False,
    is_live: bool = False,
    views: Views = PLAIN,
    on_frame: Callable[[], None] | None = None,
) -> list[SampleScore]:
    """The scores of questions to one video, with the predicted masks of the annotated (or of all) frames."""
    competes = bool(samples[0].info.annotation)
    tallies = [_Tally(sample, keep_every_frame) for sample in samples]
    frame_count = 0
    sentences = [sample.info.expression for sample in samples]
    results = segmenter.segment(
        samples[0].frames,
        sentences,
        soft=True,
        mode="live" if is_live else "auto",
        anyway=True,  # a benchmark's odd words are part of its questions: one that is refused would have no score
        chunk_frames=chunk_frames_of(segmenter.device, len(sentences)),  # nobody waits for a frame here
        views=views,
    )
    for result in results:
        _take_frame(tallies, result, competes)
        frame_count += 1
        if on_frame is not None:
            on_frame()
    return [tally.score(frame_count) for tally in tallies]


def _take_frame(tallies: Sequence["_Tally"], result: FrameResult, competes: bool) -> None:
    assert result.soft_masks is not None
    index = result.frame.index
    masks = compete(result.soft_masks) if competes else result.masks
    at_size: dict[tuple[int, ...], Masks] = {masks.shape[1:]: masks}
    truths = [tally.truth(index) for tally in tallies]
    for number, (tally, truth) in enumerate(zip(tallies, truths, strict=True)):
        tally.take_prediction(index, masks[number])
        if truth is None:
            continue
        size = (truth.layout.height, truth.layout.width)
        if size not in at_size:
            at_size[size] = _at_size(result.soft_masks, size, competes)
        predicted = PackedMask.of(at_size[size][number])
        others = truths if competes else []
        against = {
            other.name: compare(predicted, _or_empty(other_truth, truth))
            for other, other_truth in zip(tallies, others, strict=False)
        }
        counts = against[tally.name] if competes else compare(predicted, truth)
        tally.take_score(index, counts, result.confidence[number], truth, against)


def _at_size(soft: SoftMasks, size: tuple[int, int], competes: bool) -> Masks:
    """The masks at the truth's own size: the soft mask is resized, the truth never is."""
    resized: SoftMasks = resize_soft(torch.from_numpy(soft), *size).numpy()
    return compete(resized) if competes else resized > THRESHOLD


def _or_empty(truth: PackedMask | None, like: PackedMask) -> PackedMask:
    return PackedMask(0, like.layout) if truth is None else truth


class _Tally:
    """What one question has gathered so far."""

    def __init__(self, sample: Sample, keep_every_frame: bool) -> None:
        self.sample = sample
        self.name = sample.info.object_id or sample.info.key
        self._keeps_all = keep_every_frame
        self._frames: list[FrameScore] = []
        self._against: dict[str, list[FrameCounts]] = {}
        self._predictions: dict[int, Drawn] = {}
        self._last: PackedMask | None = None
        self._last_truth: tuple[int, PackedMask] | None = None
        self._steadiness: list[float] = []
        self._truth_steadiness: list[float] = []

    def truth(self, index: int) -> PackedMask | None:
        """The frame's true mask; None where the frame is not annotated."""
        return PackedMask.of(self.sample.masks[index]) if index in self.sample.masks else None

    def take_prediction(self, index: int, mask: Mask) -> None:
        packed = PackedMask.of(mask)
        if self._last is not None:
            self._steadiness.append(self._last.iou(packed))
        self._last = packed
        if self._keeps_all or index in self.sample.masks:
            self._predictions[index] = Drawn.of(mask)

    def take_score(
        self, index: int, counts: FrameCounts, confidence: float, truth: PackedMask, against: dict[str, FrameCounts]
    ) -> None:
        self._frames.append(FrameScore(index, counts, confidence))
        if self._last_truth is not None and self._last_truth[0] == index - 1:
            self._truth_steadiness.append(self._last_truth[1].iou(truth))
        self._last_truth = index, truth
        for name, each in against.items():
            self._against.setdefault(name, []).append(each)

    def score(self, frame_count: int) -> SampleScore:
        missing = sorted(set(self.sample.masks) - {frame.index for frame in self._frames})
        if missing:
            raise LocaterError(
                f"The video {self.sample.info.video} has {frame_count} frames, but frame {missing[0]} (from 0) of "
                f"'{self.sample.info.key}' is annotated; check the dataset with: locater data check."
            )
        return SampleScore(
            info=self.sample.info,
            frames=tuple(self._frames),
            frame_count=frame_count,
            stability=mean(self._steadiness),
            truth_stability=mean(self._truth_steadiness),
            against={name: tuple(counts) for name, counts in self._against.items()},
            predictions=self._predictions,
        )
