"""A clip the project renders itself, and how right the masks of it are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.files import atomic_path
from locater.records import FrameResult, Mask
from locater.video.mp4 import Mp4File
from locater.worlds.shapes import Question, ShapesWorld, video_seed

SIDE = 320  # pixels
_SEED = video_seed("test", "late_event", 10)
_KINDS = ("position", "relation", "appearance", "late_event")


@dataclass(frozen=True)
class DemoClip:
    """A rendered video, sentences that are true of it, and what they mean."""

    path: Path
    questions: tuple[Question, ...]
    truths: tuple[Mapping[int, Mask], ...]  # a question: its true masks by frame

    @property
    def expressions(self) -> list[str]:
        """The sentences."""
        return [question.expression for question in self.questions]

    def overlaps(self, result: FrameResult) -> list[float]:
        """IoU with the true mask, an expression; two empty masks agree."""
        index = result.frame.index
        return [_iou(mask, truth[index]) for mask, truth in zip(result.masks, self.truths, strict=True)]


def render_clip(path: Path) -> DemoClip:
    """An mp4 of four seconds from the shapes world, with a sentence of each of some kinds; one names a late event."""
    world = ShapesWorld("test", count=1, size=SIDE)
    frames = world.video(_SEED)
    with atomic_path(path) as partial, Mp4File(partial, frames.info.frames_per_second) as file:
        for frame in frames.frames():
            file.write(frame.pixels, frame.timestamp)
    questions = tuple(_one_of_each(world.expressions_for(_SEED)))
    return DemoClip(path, questions, tuple(frames.masks(question.referent) for question in questions))


def _one_of_each(questions: Sequence[Question]) -> list[Question]:
    """The first question of each kind wanted, each about an object of its own where that is possible."""
    chosen: list[Question] = []
    for kind in _KINDS:
        of_kind = [question for question in questions if question.kind == kind]
        taken = {question.referent for question in chosen}
        chosen.extend(sorted(of_kind, key=lambda question: question.referent in taken)[:1])
    return chosen


def _iou(mask: Mask, truth: Mask) -> float:
    union = int((mask | truth).sum())
    return float((mask & truth).sum() / union) if union else 1.0
