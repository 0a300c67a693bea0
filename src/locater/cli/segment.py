"""The commands that segment: `locater segment`, `locater demo`."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, DEFAULT_FORMATS, open_segmenter
from locater.cli.options import (
    AnywayOption,
    AskAgainOption,
    BestOption,
    BoxOption,
    CheckpointOption,
    ClickOption,
    DeviceOption,
    FastOption,
    FlipOption,
    ForceOption,
    FormatOption,
    LiveOption,
    MaskOption,
    PrecisionOption,
    ScalesOption,
    SentenceOption,
    ThresholdOption,
    VideosAndSentences,
)
from locater.cli.process.collecting import uncollected
from locater.cli.segmenting.corrections import read_corrections, sentences_for
from locater.cli.segmenting.formats import read_formats
from locater.cli.segmenting.videos import Job, place_results, read_words
from locater.cli.segmenting.views import read_views
from locater.cli.terminal import plain_warnings, progress_display, say, say_failure
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from locater.cli.terminal import ProgressDisplay
    from locater.inference.segmenter import Segmenter
    from locater.inference.writing import Writing
    from locater.records import FrameResult, FrameSource


_OUT = typer.Option(help="Folder for the results, of several videos one in it for each; by default NAME.masks.")


def segment(
    words: VideosAndSentences,
    sentence: SentenceOption = [],  # noqa: B006
    out: Annotated[Path | None, _OUT] = None,
    force: ForceOption = False,
    format: FormatOption = DEFAULT_FORMATS,
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    device: DeviceOption = None,
    precision: PrecisionOption = "auto",
    fast: FastOption = False,
    best: BestOption = False,
    live: LiveOption = False,
    anyway: AnywayOption = False,
    threshold: ThresholdOption = None,
    click: ClickOption = None,
    box: BoxOption = None,
    mask: MaskOption = None,
    scales: ScalesOption = "1",
    flip: FlipOption = False,
    ask_again: AskAgainOption = False,
) -> None:
    """Write the masks of every sentence in every frame of each video."""
    _start_decoders()
    formats = read_formats(format)
    corrections = read_corrections(click or [], box or [], mask or [])
    asked = read_words(words, sentence, needs_sentence=not corrections)
    jobs = place_results(asked, out)
    sentences = sentences_for(asked, corrections)
    views = read_views(scales, flip)

    def write(segmenter: "Segmenter", source: "FrameSource", folder: Path) -> tuple[int, list[str]]:
        from locater.inference.writing import Writing

        writing = Writing(formats, live, anyway, threshold, tuple(corrections), views, ask_again)
        return _write_results(segmenter, source, sentences, writing, folder)

    def open_network() -> "Segmenter":
        segmenter = open_segmenter(checkpoint, device, precision, fast, best)
        # What is wrong with a sentence is wrong for every video.
        segmenter.read_words(sentences, anyway, {told.expression for told in corrections})
        return segmenter

    _import_what_segments()
    with plain_warnings():
        _segment_each(jobs, force, open_network, write)


def _start_decoders() -> None:
    """Let what decodes be imported in its own process while torch is imported in this one."""
    from locater.video.guarded.processes import can_guard, start_decoders

    if can_guard():
        start_decoders()


def _import_what_segments() -> None:
    """Import once, before the first video, what every video needs."""
    with uncollected():
        for name in ("locater.video.reader", "locater.inference.writing"):
            import_module(name)


def _segment_each(
    jobs: "Sequence[Job]",
    force: bool,
    open_network: "Callable[[], Segmenter]",
    write: "Callable[[Segmenter, FrameSource, Path], tuple[int, list[str]]]",
) -> None:
    """Each video into its folder, with one network; one that cannot be had does not keep the others from theirs."""
    segmenter: Segmenter | None = None
    failed: list[Path] = []
    for job in jobs:
        try:
            source = _opened(job, force)
        except LocaterError as error:
            _give_up(job, error, len(jobs), failed)
            continue
        segmenter = segmenter or open_network()  # what is wrong with the network ends everything
        try:
            _segment_one(segmenter, source, job, force, write)
        except LocaterError as error:
            _give_up(job, error, len(jobs), failed)
    if failed:
        names = ", ".join(str(each) for each in failed)
        raise LocaterError(f"{len(failed)} of {len(jobs)} videos were not segmented: {names}.")


def _opened(job: Job, force: bool) -> "FrameSource":
    from locater.io.results_folder import check_results_folder
    from locater.video.reader import open_source

    check_results_folder(job.out, force=force)
    return open_source(job.video)


def _segment_one(
    segmenter: "Segmenter",
    source: "FrameSource",
    job: Job,
    force: bool,
    write: "Callable[[Segmenter, FrameSource, Path], tuple[int, list[str]]]",
) -> None:
    from locater.io.results_folder import results_folder

    with results_folder(job.out, "locater segment", force=force) as partial:
        frames, findings = write(segmenter, source, partial)
        made = sorted(entry.name for entry in partial.iterdir())
    say(f"{frames} frames segmented into {job.out}: {', '.join(made)}")
    for sentence in findings:
        say(sentence)


def _give_up(job: Job, error: LocaterError, videos: int, failed: list[Path]) -> None:
    """Say why there is nothing of this video, and go on; where it is the only one, the error is all there is to say."""
    if videos == 1:
        raise error
    say_failure(str(job.video), error)
    failed.append(job.video)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the clip and its results.")] = Path("demo"),
    force: ForceOption = False,
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
) -> None:
    """Segment a short clip by some sentences, and say how right the masks are."""
    _start_decoders()
    from locater.inference.demo import clip_for
    from locater.inference.writing import Writing
    from locater.io.results_folder import check_results_folder, results_folder
    from locater.video.reader import open_source

    check_results_folder(out, force=force)
    segmenter = open_segmenter(checkpoint, None, "auto")
    with plain_warnings(), results_folder(out, "locater demo", force=force) as partial:
        clip = clip_for(checkpoint, partial / "clip.mp4")
        overlaps: list[list[float]] = []
        _write_results(
            segmenter,
            open_source(clip.path),
            clip.expressions,
            # A clip that comes with its sentences shows what a checkpoint makes of them.
            Writing(("overlay", "png", "rle", "sheet"), anyway=True),
            partial,
            on_result=lambda result: overlaps.append(clip.overlaps(result)),
        )
    for place, question in enumerate(clip.questions):
        mean = sum(frame[place] for frame in overlaps) / len(overlaps)
        say(f"IoU {mean:.2f}  {question.kind:<12}{question.expression}")
    say(f"Watch {out / 'overlay.mp4'}, look at {out / 'contact_sheet.png'}; the masks are in {out / 'masks'}")
    say(f"and, as COCO run lengths, in {out / 'masks.json'}; the clip itself is {out / 'clip.mp4'}.")


def _write_results(
    segmenter: "Segmenter",
    source: "FrameSource",
    expressions: "Sequence[str]",
    writing: "Writing",
    folder: Path,
    on_result: "Callable[[FrameResult], None] | None" = None,
) -> tuple[int, list[str]]:
    """The number of frames segmented and written, with progress on the terminal, and what was found."""
    from locater.inference.writing import write_results

    with progress_display("frames/s") as progress:
        counts = _FrameCounts(progress, source, segmenter.config.memory.interval, writing.live)

        def done(result: "FrameResult") -> None:
            if on_result is not None:
                on_result(result)
            counts.segmented()

        findings = write_results(
            segmenter, source, expressions, writing, folder, on_global_frame=counts.looked_at, on_result=done
        )
        frames = counts.finished()
    return frames, findings


class _FrameCounts:
    """How far both passes over a video are; the second one's clock begins where the first one ends."""

    def __init__(self, progress: "ProgressDisplay", source: "FrameSource", interval: int, live: bool) -> None:
        total = source.info.frame_count
        self._progress = progress
        self._interval = interval
        samples = None if total is None else -(-total // interval)
        self._looking = progress.add_task("looking at the whole video", total=samples, visible=not live)
        self._masking = progress.add_task(f"segmenting {source.info.name}", start=live, total=total)
        self._count = 0
        self._looked = 0

    def looked_at(self, index: int) -> None:
        """Pass one has reached a frame: it looks at one in every interval."""
        self._looked = index // self._interval + 1
        self._progress.update(self._looking, completed=self._looked)
        self._progress.start_task(self._masking)

    def segmented(self) -> None:
        """One frame more has its masks."""
        self._count += 1
        self._progress.update(self._masking, completed=self._count)

    def finished(self) -> int:
        """The number of frames, which is more to be trusted than a file's own count."""
        self._progress.update(self._looking, completed=self._looked, total=self._looked)
        self._progress.update(self._masking, completed=self._count, total=self._count)
        return self._count
