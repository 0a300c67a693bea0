"""The scores of many questions, added one by one and merged over processes without a difference in the last bit."""

from collections.abc import Callable, Iterable

from locater.evaluation.metrics.average_precision import AveragePrecision, single
from locater.evaluation.metrics.exact_mean import ExactMean
from locater.evaluation.metrics.flicker import flicker
from locater.evaluation.metrics.sample_score import SampleScore

Scores = dict[str, float | int | None]

_TWENTIETHS = range(10, 20)  # the thresholds 0.50, 0.55, ..., 0.95
_PRINTED = range(10, 20, 2)  # those of P@K: 0.5, 0.6, ..., 0.9
_LENGTHS = (16, 32, 64, 128)  # a video's frames: groups of up to so many, and longer ones


class Summary:
    """The scores of the questions added so far.

    Everything is held as whole numbers or by name, so that any order and any split over processes gives the identical
    result. A unit of oIoU, mIoU, P@K and mAP is an annotated frame; a unit of J and F is a question.
    """

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._videos: set[str] = set()
        self._frames = 0
        self._intersection = 0
        self._union = 0
        self._above = dict.fromkeys(_TWENTIETHS, 0)
        self._at_least = dict.fromkeys(_TWENTIETHS, 0)
        self._agreeing = 0
        self._iou = ExactMean()
        self._j = ExactMean()
        self._f = ExactMean()
        self._stability = ExactMean()
        self._truth_stability = ExactMean()
        self._flicker = ExactMean()
        self._flicker_of_overlap = ExactMean()
        self._flicker_of_area = ExactMean()
        self._precision = AveragePrecision()

    def add(self, sample: SampleScore) -> None:
        """Take one question, once."""
        if sample.info.key in self._keys:
            raise ValueError(f"the question {sample.info.key} is added twice")
        self._keys.add(sample.info.key)
        self._videos.add(sample.info.video)
        for frame in sample.frames:
            counts = frame.counts
            self._frames += 1
            self._intersection += counts.intersection
            self._union += counts.union
            self._agreeing += counts.agrees_on_presence
            self._iou.add(counts.iou)
            # In whole numbers: an overlap of exactly 0.6 is at 0.6, and not above it.
            part, whole = (counts.intersection, counts.union) if counts.union else (1, 1)
            for twentieths in _TWENTIETHS:
                self._above[twentieths] += 20 * part > twentieths * whole
                self._at_least[twentieths] += 20 * part >= twentieths * whole
            image = single(frame.confidence, counts.iou, counts.predicted_area, counts.truth_area)
            self._precision.add((sample.info.key, frame.index), image)
        for total, value in (
            (self._j, sample.j),
            (self._f, sample.f),
            (self._stability, sample.stability),
            (self._truth_stability, sample.truth_stability),
        ):
            if value is not None:
                total.add(value)
        flickering = flicker(sample.frames)
        if flickering is not None:
            self._flicker.add(flickering.value)
            self._flicker_of_overlap.add(flickering.overlap)
            self._flicker_of_area.add(flickering.area)

    def result(self) -> Scores:
        """Every score by its name, in [0, 1]; None where nothing was there to score."""
        frames = self._frames
        j, f = self._j.value, self._f.value
        result: Scores = {"samples": len(self._keys), "videos": len(self._videos), "frames": frames}
        result["oiou"] = _share(self._intersection, self._union) if self._union else (1.0 if frames else None)
        result["miou"] = self._iou.value
        for twentieths in _PRINTED:
            result[f"p@{twentieths / 20:.1f}"] = _share(self._above[twentieths], frames)
        for twentieths in _PRINTED:
            result[f"p@{twentieths / 20:.1f}_or_equal"] = _share(self._at_least[twentieths], frames)
        result["map_of_precisions"] = _share(sum(self._above.values()), 10 * frames)
        result["map_of_precisions_or_equal"] = _share(sum(self._at_least.values()), 10 * frames)
        result |= {f"coco_{name}": value for name, value in self._precision.result().items()}
        result |= {"j": j, "f": f, "j&f": None if j is None or f is None else (j + f) / 2}
        result["presence_accuracy"] = _share(self._agreeing, frames)
        result |= {"stability": self._stability.value, "truth_stability": self._truth_stability.value}
        result["flicker"] = self._flicker.value
        result["flicker_of_overlap"] = self._flicker_of_overlap.value
        result["flicker_of_area"] = self._flicker_of_area.value
        return result


def summarise(samples: Iterable[SampleScore]) -> Scores:
    """The scores of some questions."""
    summary = Summary()
    for sample in samples:
        summary.add(sample)
    return summary.result()


def grouped(samples: Iterable[SampleScore]) -> dict[str, dict[str, Scores]]:
    """Scores by kind of sentence, by number of objects and by length of the video, where these are known."""
    kept = list(samples)
    groupings: dict[str, Callable[[SampleScore], tuple[int, str] | None]] = {
        "kind": lambda sample: (0, sample.info.kind) if sample.info.kind else None,
        "object_count": lambda sample: (
            None if sample.info.object_count is None else (sample.info.object_count, str(sample.info.object_count))
        ),
        "length": lambda sample: _length_group(sample.frame_count),
    }
    result: dict[str, dict[str, Scores]] = {}
    for title, group_of in groupings.items():
        groups: dict[tuple[int, str], list[SampleScore]] = {}
        for sample in kept:
            group = group_of(sample)
            if group is not None:
                groups.setdefault(group, []).append(sample)
        if groups:
            result[title] = {name: summarise(groups[order, name]) for order, name in sorted(groups)}
    return result


def _length_group(frames: int) -> tuple[int, str]:
    least = 1
    for most in _LENGTHS:
        if frames <= most:
            return least, f"{least}-{most} frames"
        least = most + 1
    return least, f"{least} frames or more"


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
