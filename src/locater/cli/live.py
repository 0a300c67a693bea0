"""The command `locater live`: a camera or a stream, segmented as it happens."""

import signal
import sys
import time
from collections import deque
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, open_segmenter
from locater.cli.options import (
    AnywayOption,
    BestOption,
    CheckpointOption,
    DeviceOption,
    FastOption,
    ForceOption,
    PrecisionOption,
)
from locater.cli.process.stopping import TERMINATED
from locater.cli.terminal import plain_warnings, say
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from locater.records import FrameResult
    from locater.video.live.source import LiveSource

    Write = Callable[[FrameResult, str], None]  # a frame's masks, and what is to be read on the picture

PIPE = "-"
_WINDOW = 2.0  # seconds over which the speed on the screen is taken
_SECONDS_BETWEEN_LINES = {True: 0.25, False: 10.0}  # on a terminal, and in a log


def live(
    source: Annotated[str, typer.Argument(help="A camera's number, as 0; a stream's address, as rtsp://...; a file.")],
    sentences: Annotated[list[str], typer.Argument(help='What to segment: "the red cup" "the hand".')],
    out: Annotated[
        str | None,
        typer.Option(
            help="NAME.mp4 for the overlay, a folder for the files of --format, or - for a pipe to a player. "
            "Without it the speed alone is told."
        ),
    ] = None,
    force: ForceOption = False,
    format: Annotated[str, typer.Option(help="Of a folder: any of those that `segment` writes.")] = "overlay,png,rle",
    seconds: Annotated[float | None, typer.Option(help="Stop after so long; Ctrl-C stops at any time.", min=0)] = None,
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    device: DeviceOption = None,
    precision: PrecisionOption = "auto",
    fast: FastOption = False,
    best: BestOption = False,
    anyway: AnywayOption = False,
) -> None:
    """Segment what a camera sees, as it happens: frames that come too fast are dropped, never queued."""
    from locater.video.live.source import LiveSource

    _check_out(out, format, force)
    opened = LiveSource(source)
    segmenter = open_segmenter(checkpoint, device, precision, fast, best)
    speed = LiveSpeed()
    with plain_warnings(), ExitStack() as stack, stopped_gently(opened) as terminated:
        write = _open_sink(stack, out, format, force, opened, sentences)
        for result in segmenter.segment(opened, sentences, mode="live", anyway=anyway):
            note = speed.note(opened.age(result.frame))
            try:
                write(result, note)
            except BrokenPipeError:  # the player was closed
                break
            speed.show(opened)
            if seconds is not None and result.frame.timestamp >= seconds:
                break
        opened.close()
    say(speed.summary(opened), to_error=out == PIPE)
    if out not in (None, PIPE):
        say(f"Written: {out}")
    if terminated:
        raise typer.Exit(TERMINATED)


def _check_out(out: str | None, format: str, force: bool) -> None:
    """Nothing, when results may go where they are wanted: asked before anything is opened."""
    from locater.io.results_folder import check_results_folder
    from locater.video.writer import check_formats

    if out is None or out == PIPE:
        return
    if not _is_file(out):
        check_formats(_names(format))
        check_results_folder(Path(out), force=force)
    elif Path(out).exists() and not force:
        raise LocaterError(f"{out} is there already; add --force to replace it, or choose another name.")


def _is_file(out: str) -> bool:
    return out.lower().endswith(".mp4")


def _names(format: str) -> list[str]:
    return [name.strip() for name in format.split(",") if name.strip()]


@contextmanager
def stopped_gently(source: "LiveSource") -> "Iterator[list[int]]":
    """While it lasts a signal ends the frames, so that what was segmented is finished and kept; SIGTERMs are listed."""
    terminated: list[int] = []

    def stop(number: int, frame: object) -> None:  # noqa: ARG001
        source.close()
        if number == signal.SIGTERM:
            terminated.append(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield terminated
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _open_sink(
    stack: ExitStack, out: str | None, format: str, force: bool, source: "LiveSource", sentences: "Sequence[str]"
) -> "Write":
    """What writes a frame to where it is wanted, finished when the stack is left."""
    from locater.io.atomic import atomic_path
    from locater.io.results_folder import results_folder
    from locater.video.live.pipe import PipedVideo
    from locater.video.live.stamp import stamped
    from locater.video.mp4 import Mp4File
    from locater.video.overlay import captioned, draw
    from locater.video.writer import open_writers

    if out is None:
        return lambda result, note: None  # noqa: ARG005
    if out != PIPE and not _is_file(out):
        folder = stack.enter_context(results_folder(Path(out), "locater live", force=force))
        writers = stack.enter_context(open_writers(_names(format), folder, source.info, sentences))
        return lambda result, note: writers.write(result)  # noqa: ARG005
    video: PipedVideo | Mp4File
    if out == PIPE:
        video = stack.enter_context(PipedVideo(sys.stdout.buffer))
    else:
        path = stack.enter_context(atomic_path(Path(out)))
        video = stack.enter_context(Mp4File(path, source.info.frames_per_second))

    def write(result: "FrameResult", note: str) -> None:
        picture = stamped(draw(result.frame.pixels, result.masks), note)
        video.write(captioned(picture, sentences), result.frame.timestamp)

    return write


class LiveSpeed:
    """Frames per second and latency, for the screen now and for the end."""

    def __init__(self) -> None:
        self._ages: list[float] = []  # seconds from a frame's arrival to its masks, 8 bytes a frame
        self._recent: deque[float] = deque()
        self._started_at = time.monotonic()
        self._is_terminal = sys.stderr.isatty()
        self._next_line_at = self._started_at + _SECONDS_BETWEEN_LINES[self._is_terminal]

    def note(self, age: float) -> str:
        """What stands on the picture, one frame later than the last."""
        now = time.monotonic()
        self._ages.append(age)
        self._recent.append(now)
        while now - self._recent[0] > _WINDOW:
            self._recent.popleft()
        span = now - self._recent[0]
        rate = (len(self._recent) - 1) / span if span else 0.0
        return f"{rate:.1f} frames/s, {1000 * age:.0f} ms behind"

    def show(self, source: "LiveSource") -> None:
        """The same on standard error, when it is time for a line."""
        now = time.monotonic()
        if now < self._next_line_at:
            return
        self._next_line_at = now + _SECONDS_BETWEEN_LINES[self._is_terminal]
        rate = len(self._ages) / (now - self._started_at)
        line = f"live: {len(self._ages)} frames, {rate:.1f} frames/s, {1000 * self._ages[-1]:.0f} ms behind, "
        line += f"{source.dropped} dropped"
        print(f"\r\x1b[K{line}" if self._is_terminal else line, end="" if self._is_terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def summary(self, source: "LiveSource") -> str:
        """What a run came to."""
        if self._is_terminal:
            print(file=sys.stderr)
        if not self._ages:
            return "No frame was segmented."
        ages = sorted(self._ages)
        rate = len(ages) / (time.monotonic() - self._started_at)
        half, most = (1000 * ages[min(len(ages) - 1, int(share * len(ages)))] for share in (0.5, 0.95))
        return (
            f"{len(ages)} of {source.arrived} frames segmented, {source.dropped} dropped, {rate:.1f} frames/s; "
            f"{half:.0f} ms behind in the middle, 95 % within {most:.0f} ms."
        )
