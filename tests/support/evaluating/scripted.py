"""Segmenters that answer by rule in place of a network, for scores whose right value is known."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from locater.inference.segmenter import Segmenter
from locater.records import Frame, FrameResult, FrameSource, Mask, VideoState, Views

Rule = Callable[[str, Frame, str], Mask]  # of a video's name, a frame of it and a sentence


class Scripted:
    """As much of a segmenter as the evaluation asks for masks; `at_once` sentences must come in one pass."""

    def __init__(self, rule: Rule, at_once: int | None = None) -> None:
        self.device = torch.device("cpu")
        self.rule = rule
        self.at_once = at_once

    def segment(
        self,
        source: FrameSource,
        expressions: list[str],
        *,
        soft: bool,
        anyway: bool,
        mode: str,
        chunk_frames: int,
        views: Views,
    ) -> Iterator[FrameResult]:
        assert soft and anyway and mode == "auto" and chunk_frames > 0 and views == Views()
        assert self.at_once in (None, len(expressions))
        assert len(list(source.frames())) == source.info.frame_count  # a network looks at the whole video first
        return (self._answer(source.info.name, frame, tuple(expressions)) for frame in source.frames())

    def _answer(self, video: str, frame: Frame, expressions: tuple[str, ...]) -> FrameResult:
        masks = np.stack([self.rule(video, frame, each) for each in expressions])
        nothing = torch.zeros(len(expressions), 0, 1)
        state = VideoState(nothing, nothing, frame.index + 1, True, expressions)
        presence = (1.0,) * len(expressions)
        return FrameResult(frame, masks, masks.astype(np.float32), presence, ((),) * len(expressions), state)


class ScriptedSegmenter(Scripted, Segmenter):  # type: ignore[misc]  # as much of `segment` as the runner calls
    """The same in place of a checkpoint's network, for the whole runner."""

    def __init__(self, checkpoint: Path, rule: Rule, at_once: int | None = None) -> None:
        Segmenter.__init__(self, Segmenter.from_pretrained(checkpoint, "cpu").model, "cpu")
        Scripted.__init__(self, rule, at_once)
