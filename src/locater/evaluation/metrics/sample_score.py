"""How one question was answered: what the runner keeps of it, and all that any report is made from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.exact_mean import mean
from locater.io import rle
from locater.records import Mask, SampleInfo


@dataclass(frozen=True)
class FrameScore:
    """One annotated frame."""

    index: int
    counts: FrameCounts
    confidence: float  # orders the masks for COCO's average precision


@dataclass(frozen=True)
class Drawn:
    """A predicted mask as run lengths."""

    height: int
    width: int
    runs: bytes

    @classmethod
    def of(cls, mask: Mask) -> "Drawn":
        """The run lengths of an (H, W) mask."""
        return cls(mask.shape[0], mask.shape[1], rle.encode(mask))

    def mask(self) -> Mask:
        """The (H, W) mask."""
        return rle.decode(self.runs, self.height, self.width)


@dataclass(frozen=True)
class SampleScore:
    """One question's frames, scored."""

    info: SampleInfo
    frames: tuple[FrameScore, ...]  # the annotated ones, in order
    frame_count: int  # of the whole video
    stability: float | None = None  # mean IoU of a frame's predicted mask and the one before; None: a single frame
    truth_stability: float | None = None  # the same of the true masks, where two frames in a row have one
    # Ref-DAVIS17: this object's mask against every object of the video, by its id, frame by frame as in `frames`.
    against: Mapping[str, tuple[FrameCounts, ...]] = field(default_factory=dict)
    predictions: Mapping[int, Drawn] = field(default_factory=dict)  # by frame

    @cached_property
    def j(self) -> float | None:
        """Mean J of the annotated frames; None without any."""
        return mean([frame.counts.iou for frame in self.frames])

    @cached_property
    def f(self) -> float | None:
        """Mean F of the annotated frames; None without any."""
        return mean([frame.counts.boundary_f for frame in self.frames])

    @property
    def j_and_f(self) -> float | None:
        """The average of J and F."""
        return None if self.j is None or self.f is None else (self.j + self.f) / 2

    def to_json(self) -> dict[str, Any]:
        """Plain values for one line of a file; `from_json` is the way back, bit for bit."""
        info = self.info
        return {
            "key": info.key,
            "video": info.video,
            "expression": info.expression,
            "kind": info.kind,
            "object_count": info.object_count,
            "object_id": info.object_id,
            "annotation": info.annotation,
            "frame_count": self.frame_count,
            "frames": [[frame.index, frame.confidence, *frame.counts.numbers()] for frame in self.frames],
            "stability": self.stability,
            "truth_stability": self.truth_stability,
            "against": {name: [each.numbers() for each in counts] for name, counts in self.against.items()},
            "predictions": [
                [index, drawn.height, drawn.width, drawn.runs.decode("ascii")]
                for index, drawn in self.predictions.items()
            ],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "SampleScore":
        """The score behind a line; KeyError, TypeError or ValueError where it is none."""
        names = ("key", "video", "expression", "kind", "object_count", "object_id", "annotation")
        return cls(
            info=SampleInfo(*(values[name] for name in names)),
            frames=tuple(
                FrameScore(index, FrameCounts(*numbers), confidence) for index, confidence, *numbers in values["frames"]
            ),
            frame_count=values["frame_count"],
            stability=values["stability"],
            truth_stability=values["truth_stability"],
            against={
                name: tuple(FrameCounts(*numbers) for numbers in counts) for name, counts in values["against"].items()
            },
            predictions={
                index: Drawn(height, width, runs.encode("ascii"))
                for index, height, width, runs in values["predictions"]
            },
        )
