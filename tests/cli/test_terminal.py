"""Progress that is right, on a terminal and in a log, and warnings as single lines."""

import warnings

import pytest

from locater.cli.segment import _FrameCounts
from locater.cli.terminal import FIRST_LINE, NEXT_LINES, PlainLines, plain_warnings, rate_text, time_left
from locater.records import VideoInfo
from locater.video.array_source import ArrayStream


class Clock:
    """Moves when told."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_log_gets_a_line_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    progress = PlainLines("frames/s", clock)
    task = progress.add_task("segmenting", total=200)
    for second in range(70):
        clock.now = 100.0 + second
        progress.update(task, completed=2 * second)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "segmenting: 10/200, 2.0 frames/s, 0:01:35 left",
        "segmenting: 70/200, 2.0 frames/s, 0:01:05 left",
        "segmenting: 130/200, 2.0 frames/s, 0:00:35 left",
    ]
    assert (FIRST_LINE, NEXT_LINES) == (5, 30)


def test_speed_counts_what_this_run_did() -> None:
    """Bursts are no speed, and neither is what an earlier run had done."""
    clock = Clock()
    progress = PlainLines("steps/s", clock)
    task = progress.add_task("training", total=None)
    clock.now += 10
    progress.update(task, completed=5010, total=6000, before=5000)
    assert progress._line(progress._tasks[task], clock.now) == "training: 5010/6000, 1.0 steps/s, 0:16:30 left"
    assert rate_text(0, 3, "frames/s") == time_left(0, 10, 3) == time_left(5, None, 3) == ""


def test_frames_are_counted_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """It said 11/8 where the whole video was looked at, and 102 frames/s for a chunk of 8 that took six seconds."""
    clock = Clock()
    progress = PlainLines("frames/s", clock)
    source = ArrayStream([], 24)
    source.info = VideoInfo("clip.mp4", frame_count=8)
    counts = _FrameCounts(progress, source, interval=5, live=False)
    counts.looked_at(7)
    clock.now += 6
    for _ in range(8):
        counts.segmented()
    assert counts.finished() == 8
    assert capsys.readouterr().err == "segmenting clip.mp4: 1/8, 0.2 frames/s, 0:00:42 left\n"
    looking, masking = progress._tasks
    assert (looking.completed, looking.total) == (2, 2)
    assert progress._line(masking, clock.now) == "segmenting clip.mp4: 8/8, 1.3 frames/s"


def test_the_same_warning_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with plain_warnings():
        for text in ("one\nline", "one\nline", "another"):
            warnings.warn(text, stacklevel=1)
    assert capsys.readouterr().err == "Warning: one line\nWarning: another\n"
