"""Clips whose true masks are known, and how right the masks of them are.

One is rendered from the shapes world, one ships with the package: photographs brought to life (docs/demo.md).
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from locater.io import rle
from locater.io.atomic import atomic_path
from locater.records import FrameResult, Mask
from locater.video.mp4 import Mp4File
from locater.video.overlap import mask_iou
from locater.worlds.shapes import Question, ShapesWorld, video_seed

SIDE = 320  # pixels
_SEED = video_seed("test", "late_event", 10)
_KINDS = ("position", "relation", "appearance", "late_event")


@dataclass(frozen=True)
class DemoSentence:
    """A sentence on a clip."""

    kind: str
    expression: str


@dataclass(frozen=True)
class DemoClip:
    """A video, sentences on it, and what they mean."""

    path: Path
    questions: tuple[DemoSentence, ...]
    truths: tuple[Mapping[int, Mask], ...]  # a question: its true masks by frame

    @property
    def expressions(self) -> list[str]:
        """The sentences."""
        return [question.expression for question in self.questions]

    def overlaps(self, result: FrameResult) -> list[float]:
        """IoU with the true mask, an expression; two empty masks agree."""
        index = result.frame.index
        return [mask_iou(mask, truth[index]) for mask, truth in zip(result.masks, self.truths, strict=True)]


def clip_for(checkpoint: str, path: Path) -> DemoClip:
    """A clip at `path` for a checkpoint's name: `shapes` knows nothing but shapes, all others get real pixels."""
    return render_clip(path) if checkpoint == "shapes" else demo_clip(path)


def demo_clip(path: Path | None = None) -> DemoClip:
    """The clip that ships with the package, four seconds of cats and cups; copied to `path` where one is given."""
    folder = Path(str(resources.files("locater") / "clips"))
    truth = json.loads((folder / "cafe.json").read_text(encoding="utf-8"))
    clip = folder / "cafe.mp4"
    if path is not None:
        with atomic_path(path) as partial:
            shutil.copyfile(clip, partial)
    shape = truth["height"], truth["width"]
    nothing = dict.fromkeys(range(truth["frame_count"]), np.zeros(shape, dtype=np.bool_))
    masks = {
        name: {index: rle.decode(counts.encode("ascii"), *shape) for index, counts in enumerate(by_frame)}
        for name, by_frame in truth["masks"].items()
    }
    return DemoClip(
        clip if path is None else path,
        tuple(DemoSentence(each["kind"], each["expression"]) for each in truth["sentences"]),
        tuple(nothing if each["means"] is None else masks[each["means"]] for each in truth["sentences"]),
    )


def render_clip(path: Path) -> DemoClip:
    """An mp4 of four seconds from the shapes world, with a sentence of each of some kinds; one names a late event."""
    world = ShapesWorld("test", count=1, size=SIDE)
    frames = world.video(_SEED)
    with atomic_path(path) as partial, Mp4File(partial, frames.info.frames_per_second) as file:
        for frame in frames.frames():
            file.write(frame.pixels, frame.timestamp)
    questions = _one_of_each(world.expressions_for(_SEED))
    asked = tuple(DemoSentence(question.kind, question.expression) for question in questions)
    return DemoClip(path, asked, tuple(frames.masks(question.referent) for question in questions))


def _one_of_each(questions: Sequence[Question]) -> list[Question]:
    """The first question of each kind wanted, each about an object of its own where that is possible."""
    chosen: list[Question] = []
    for kind in _KINDS:
        of_kind = [question for question in questions if question.kind == kind]
        taken = {question.referent for question in chosen}
        chosen.extend(sorted(of_kind, key=lambda question: question.referent in taken)[:1])
    return chosen
