"""The commands that segment: `locater segment`, `locater demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DEFAULT_CHECKPOINT, open_segmenter
from locater.cli.options import (
    BoxOption,
    CheckpointOption,
    ClickOption,
    DeviceOption,
    MaskOption,
    PrecisionOption,
)
from locater.cli.terminal import plain_warnings, progress_display
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from locater.inference.segmenter import Segmenter
    from locater.records import Correction, FrameResult, FrameSource


def segment(
    video: Annotated[str, typer.Argument(help="A video file, or a folder of images.")],
    expressions: Annotated[
        list[str] | None, typer.Argument(help='What to segment: "the dog on the left" "the other dog".')
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; by default VIDEO's name + .masks.")] = None,
    format: Annotated[
        str, typer.Option(help="Any of overlay (mp4), png (DAVIS palette), rle (COCO), sheet.")
    ] = "overlay,png,rle",
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
    device: DeviceOption = None,
    precision: PrecisionOption = "float32",
    live: Annotated[
        bool, typer.Option(help="Read once, as a camera would be: no knowledge of what comes later.")
    ] = False,
    click: ClickOption = None,
    box: BoxOption = None,
    mask: MaskOption = None,
) -> None:
    """Write the masks of every expression in every frame of a video."""
    from locater.cli.corrections import read_corrections, sentences_for
    from locater.io.atomic import atomic_entries
    from locater.video.reader import open_source
    from locater.video.writer import check_formats

    formats = [name.strip() for name in format.split(",") if name.strip()]
    check_formats(formats)
    if not formats:
        raise LocaterError("No output format is left to write; name one with --format, for example overlay.")
    source = open_source(video)
    corrections = read_corrections(click or [], box or [], mask or [])
    sentences = sentences_for(expressions or [], corrections, source.info)
    segmenter = open_segmenter(checkpoint, device, precision)
    folder = out or Path(f"{Path(video).stem}.masks")
    with plain_warnings(), atomic_entries(folder) as partial:
        frames = _write_results(segmenter, source, sentences, formats, partial, live, corrections)
        made = sorted(entry.name for entry in partial.iterdir())
    typer.echo(f"{frames} frames segmented into {folder}: {', '.join(made)}")


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the clip and its results.")] = Path("demo"),
    checkpoint: CheckpointOption = DEFAULT_CHECKPOINT,
) -> None:
    """Segment a short clip by some sentences, and say how right the masks are."""
    from locater.inference.demo import clip_for
    from locater.io.atomic import atomic_entries
    from locater.video.reader import open_source

    segmenter = open_segmenter(checkpoint, None, "float32")
    with atomic_entries(out) as partial:
        clip = clip_for(checkpoint, partial / "clip.mp4")
        overlaps: list[list[float]] = []
        _write_results(
            segmenter,
            open_source(clip.path),
            clip.expressions,
            ["overlay", "png", "rle", "sheet"],
            partial,
            live=False,
            on_result=lambda result: overlaps.append(clip.overlaps(result)),
        )
    for place, question in enumerate(clip.questions):
        mean = sum(frame[place] for frame in overlaps) / len(overlaps)
        typer.echo(f"IoU {mean:.2f}  {question.kind:<12}{question.expression}")
    typer.echo(f"Watch {out / 'overlay.mp4'}, look at {out / 'contact_sheet.png'}; the masks are in {out / 'masks'}")
    typer.echo(f"and, as COCO run lengths, in {out / 'masks.json'}; the clip itself is {out / 'clip.mp4'}.")


def _write_results(
    segmenter: "Segmenter",
    source: "FrameSource",
    expressions: list[str],
    formats: list[str],
    folder: Path,
    live: bool,
    corrections: "Sequence[Correction]" = (),
    on_result: "Callable[[FrameResult], None] | None" = None,
) -> int:
    """The number of frames segmented and written, with progress on the terminal."""
    from locater.video.writer import open_writers

    names = [text or f"clicked {place}" for place, text in enumerate(expressions, start=1)]
    with progress_display("frames/s") as progress, open_writers(formats, folder, source.info, names) as writers:
        interval = segmenter.model.config.memory.interval
        total = source.info.frame_count
        looking = progress.add_task("looking at the whole video", total=total, visible=not live)
        masking = progress.add_task("segmenting", total=total)
        results = segmenter.segment(
            source,
            expressions,
            soft="png" in formats and len(expressions) > 1,
            mode="live" if live else "file",
            on_global_frame=lambda index: progress.update(looking, completed=index + interval),
            corrections=corrections,
        )
        count = 0
        for result in results:
            writers.write(result)
            if on_result is not None:
                on_result(result)
            count += 1
            progress.update(masking, completed=count)
        progress.update(looking, completed=count, total=count)
        progress.update(masking, completed=count, total=count)
    return count
