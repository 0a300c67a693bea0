"""The commands that segment: `locater segment`, `locater demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, open_segmenter
from locater.cli.options import (
    AnywayOption,
    BoxOption,
    CheckpointOption,
    ClickOption,
    DeviceOption,
    ForceOption,
    LiveOption,
    MaskOption,
    PrecisionOption,
    SentenceOption,
    ThresholdOption,
)
from locater.cli.segmenting.corrections import read_corrections, sentences_for
from locater.cli.segmenting.findings import Findings
from locater.cli.segmenting.videos import Job, place_results, read_words
from locater.cli.terminal import plain_warnings, progress_display, say, say_failure
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from locater.cli.terminal import ProgressDisplay, say
    from locater.inference.segmenter import Segmenter
    from locater.records import Correction, FrameResult, FrameSource


def segment(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar='VIDEO... "SENTENCE"...',
            help="Videos, folders of pictures or of videos, patterns; then what to segment: "
            '"the dog on the left" "the other dog". What exists as a file is a video, anything else a sentence.',
        ),
    ],
    sentence: SentenceOption = [],  # noqa: B006
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results, of several videos one in it for each; by default NAME.masks."),
    ] = None,
    force: ForceOption = False,
    format: Annotated[
        str,
        typer.Option(
            help="Any of overlay, overlays, matte, alpha (videos); png, pngs, cutout, images, sheet (pictures); "
            "rle, coco-video, yolo, cvat, labelstudio, boxes (annotations): docs/outputs.md."
        ),
    ] = "overlay,png,rle",
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    device: DeviceOption = None,
    precision: PrecisionOption = "float32",
    live: LiveOption = False,
    anyway: AnywayOption = False,
    threshold: ThresholdOption = None,
    click: ClickOption = None,
    box: BoxOption = None,
    mask: MaskOption = None,
) -> None:
    """Write the masks of every sentence in every frame of each video."""
    formats = _formats(format)
    corrections = read_corrections(click or [], box or [], mask or [])
    asked = read_words(words, sentence, needs_sentence=not corrections)
    jobs = place_results(asked, out)
    sentences = sentences_for(asked, corrections)

    def write(segmenter: "Segmenter", source: "FrameSource", folder: Path) -> tuple[int, list[str]]:
        return _write_results(segmenter, source, sentences, formats, folder, live, anyway, threshold, corrections)

    def open_network() -> "Segmenter":
        segmenter = open_segmenter(checkpoint, device, precision)
        # What is wrong with a sentence is wrong for every video.
        segmenter.read_words(sentences, anyway, {told.expression for told in corrections})
        return segmenter

    with plain_warnings():
        _segment_each(jobs, force, open_network, write)


def _formats(text: str) -> list[str]:
    """The formats named, all of them known."""
    from locater.video.writer import check_formats

    formats = [name.strip() for name in text.split(",") if name.strip()]
    check_formats(formats)
    if not formats:
        raise LocaterError("No output format is left to write; name one with --format, for example overlay.")
    return formats


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
    from locater.inference.demo import clip_for
    from locater.io.results_folder import check_results_folder, results_folder
    from locater.video.reader import open_source

    check_results_folder(out, force=force)
    segmenter = open_segmenter(checkpoint, None, "float32")
    with plain_warnings(), results_folder(out, "locater demo", force=force) as partial:
        clip = clip_for(checkpoint, partial / "clip.mp4")
        overlaps: list[list[float]] = []
        _write_results(
            segmenter,
            open_source(clip.path),
            clip.expressions,
            ["overlay", "png", "rle", "sheet"],
            partial,
            live=False,
            anyway=True,  # a clip that comes with its sentences shows what a checkpoint makes of them
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
    formats: list[str],
    folder: Path,
    live: bool,
    anyway: bool,
    threshold: float | None = None,
    corrections: "Sequence[Correction]" = (),
    on_result: "Callable[[FrameResult], None] | None" = None,
) -> tuple[int, list[str]]:
    """The number of frames segmented and written, with progress on the terminal, and what was found."""
    from locater.video.writer import open_writers

    names = [text or f"clicked {place}" for place, text in enumerate(expressions, start=1)]
    findings = Findings(names)
    with progress_display("frames/s") as progress, open_writers(formats, folder, source.info, names) as writers:
        counts = _FrameCounts(progress, source, segmenter.model.config.memory.interval, live)
        results = segmenter.segment(
            source,
            expressions,
            soft="png" in formats and len(expressions) > 1,
            mode="live" if live else "file",
            anyway=anyway,
            threshold=threshold,
            on_global_frame=counts.looked_at,
            corrections=corrections,
        )
        for result in results:
            writers.write(result)
            findings.take(result)
            if on_result is not None:
                on_result(result)
            counts.segmented()
        frames = counts.finished()
    return frames, list(findings.sentences())


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
