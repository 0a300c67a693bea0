"""A video's results as files: segmented and written frame by frame, and what was found told at the end."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from locater.inference.averaged_views import PLAIN
from locater.inference.segmenter import Segmenter
from locater.inference.telling.asking_again import AskingAgain
from locater.inference.telling.findings import Findings, ambiguous
from locater.records import Correction, FrameMasks, FrameResult, FrameSource, VideoState, Views
from locater.video.writer import open_writers
from locater.video.writers.background import BackgroundWriters


@dataclass(frozen=True)
class Writing:
    """What to write of a video, and how it is segmented."""

    formats: tuple[str, ...]
    live: bool = False
    anyway: bool = False
    threshold: float | None = None
    corrections: tuple[Correction, ...] = ()
    views: Views = PLAIN
    asks_again: bool = False  # whether each sentence fits a second thing


@dataclass(frozen=True)
class Before:
    """What was done of a video before it was interrupted: the state, and the results of all frames up to it."""

    state: VideoState
    results: Iterable[FrameMasks]


def write_results(
    segmenter: Segmenter,
    source: FrameSource,
    expressions: Sequence[str],
    writing: Writing,
    folder: Path,
    *,
    before: Before | None = None,
    on_global_frame: Callable[[int], None] | None = None,
    on_global_state: Callable[[VideoState], None] | None = None,
    on_result: Callable[[FrameResult], None] | None = None,
) -> list[str]:
    """What was found, once every frame is segmented and written into `folder`, which exists.

    An interrupted video goes on from `before`: its frames are written first, as the writers begin anew. `on_result`
    hears of every frame that is segmented now.
    """
    names = [text or f"clicked {place}" for place, text in enumerate(expressions, start=1)]
    findings = Findings(names)
    again = AskingAgain() if writing.asks_again else None
    takers = [findings.take] if again is None else [findings.take, again.take]
    with BackgroundWriters(open_writers(writing.formats, folder, source.info, names)) as writers:
        results = segmenter.segment(
            source,
            expressions,
            soft="png" in writing.formats and len(expressions) > 1,
            mode="live" if writing.live else "file",
            anyway=writing.anyway,
            threshold=writing.threshold,
            state=None if before is None else before.state,
            on_global_frame=on_global_frame,
            on_global_state=on_global_state,
            corrections=writing.corrections,
            views=writing.views,
        )
        for earlier in () if before is None else before.results:
            for take in (writers.write, *takers):
                take(earlier)
        for result in results:
            for take in (writers.write, *takers):
                take(result)
            if on_result is not None:
                on_result(result)
    told = list(findings.sentences())
    return told if again is None else told + _ambiguous(again, segmenter, source, expressions, writing)


def _ambiguous(
    again: AskingAgain, segmenter: Segmenter, source: FrameSource, expressions: Sequence[str], writing: Writing
) -> list[str]:
    """A word on each sentence that fits a second thing; of a corrected one a person has said which is meant."""
    corrected = {each.expression for each in writing.corrections}
    return [
        ambiguous(text)
        for place, text in enumerate(expressions)
        if place not in corrected
        and again.fits_second(segmenter, text, place, source.info, writing.views, writing.threshold)
    ]
