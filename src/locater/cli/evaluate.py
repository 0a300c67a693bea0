"""The commands that score: `locater evaluate`, `score`, `compare` and `submission check`."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from locater.cli.opening import DATA, OLD_ROOT, open_segmenter
from locater.cli.options import (
    BestOption,
    CheckpointArgument,
    DeviceOption,
    FastOption,
    FlipOption,
    ForceOption,
    LiveOption,
    PrecisionOption,
    ScalesOption,
    VideosOption,
)
from locater.cli.segmenting.views import read_views
from locater.cli.terminal import one_line, progress_display, say
from locater.errors import LocaterError

if TYPE_CHECKING:
    from locater.evaluation.run.runner import Listener

_MASKS = "A folder or zip of PNGs, or a JSON of COCO run lengths."
_SCORED = (
    "The true masks: davis, ref-davis17, mevis, refer-youtube-vos or a2d-sentences, and the dataset's folder; of the "
    "last, also MTTR's file of masks in COCO's format."
)


def evaluate(
    checkpoint: CheckpointArgument,
    dataset: Annotated[str, typer.Argument(metavar="NAME[:ROOT]", help=DATA)],
    out: Annotated[Path, typer.Option(help="Folder of the results; a run that was interrupted there goes on.")],
    root: Annotated[Path | None, typer.Argument(help=OLD_ROOT, hidden=True)] = None,
    split: Annotated[str | None, typer.Option(help="test, valid, ...; the dataset's usual one by default.")] = None,
    count: Annotated[
        int | None,
        typer.Option(help="Of a world: videos per kind of sentence, 100 by default; of positions 200 scenes."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many questions.")] = None,
    submission: Annotated[Path | None, typer.Option(help="Also write this zip, to hand in.")] = None,
    failures: Annotated[int, typer.Option(help="Pictures of so many of the worst answers.")] = 12,
    contrast: Annotated[str, typer.Option(help="Of davis: also joined pairs, as spatial,temporal.")] = "",
    live: LiveOption = False,
    device: DeviceOption = None,
    precision: PrecisionOption = "auto",
    fast: FastOption = False,
    best: BestOption = False,
    scales: ScalesOption = "1",
    flip: FlipOption = False,
) -> None:
    """Score a checkpoint on a dataset or a world; start it under `torchrun` for many GPUs."""
    from locater.datasets.catalog import find_source
    from locater.evaluation.run.evaluate import EvaluateRequest
    from locater.evaluation.run.evaluate import evaluate as run_evaluation
    from locater.evaluation.run.processes import place_among_processes

    place = place_among_processes()
    contrasts = tuple(dict.fromkeys(name.strip() for name in contrast.split(",") if name.strip()))
    source = find_source(dataset, root)
    views = read_views(scales, flip)
    request = EvaluateRequest(
        checkpoint, source, out, split, count, limit, submission, failures, live, contrasts, views=views
    )
    segmenter = open_segmenter(checkpoint, place.device(device), precision, fast, best)
    with _answering(place.is_first) as listen:
        finished = run_evaluation(request, segmenter, place, listen=listen)
    _warn_of(finished.not_understood)
    if finished.report is not None:
        say(finished.report.markdown())
        say(f"Results: {out}")


@contextmanager
def _answering(is_shown: bool) -> "Iterator[Listener]":
    """What is told how far the answers are, and shows it."""
    with progress_display("questions/s") as progress:
        task = progress.add_task("answering", visible=is_shown)
        yield lambda at: progress.update(
            task,
            completed=at.answered,
            total=at.questions,
            description=f"answering, {at.frames} frames",
            before=at.before,
        )


def _warn_of(not_understood: Sequence[str]) -> None:
    if not_understood:
        print(
            f"Warning: {len(not_understood)} sentences are not wholly understood; the first: "
            f"{one_line(not_understood[0])}",
            file=sys.stderr,
        )


def score(
    predictions: Annotated[Path, typer.Argument(help=_MASKS)],
    dataset: Annotated[str, typer.Argument(metavar="NAME:ROOT", help=_SCORED)],
    protocol: Annotated[
        str | None, typer.Option(help="The field's protocol for a ROOT without NAME.", hidden=True)
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of the ground truth: valid, valid_u, train, ...")] = None,
    videos: VideosOption = None,
    out: Annotated[Path | None, typer.Option(help="Also write the scores to this JSON.")] = None,
) -> None:
    """Score any system's masks by the same code as our own."""
    from locater.datasets.catalog import find_source
    from locater.evaluation.external.score import protocol_of
    from locater.evaluation.external.score import score as score_masks

    truth: Path | None = Path(dataset)  # as --protocol has it
    if protocol is None:
        source = find_source(dataset)
        protocol, truth = protocol_of(source), source.root
    if truth is None:
        raise LocaterError(f"{dataset} needs the folder of its true masks; write {dataset}:FOLDER.")
    judged = score_masks(predictions, truth, protocol, videos=videos, split=split)
    if out is not None:
        judged.save(out)
    say(judged.text)


def compare(
    first: Annotated[Path, typer.Argument(help=_MASKS)],
    second: Annotated[Path, typer.Argument(help="The other system's, likewise.")],
    truth: Annotated[
        str,
        typer.Option(metavar="NAME:ROOT", help="The true masks: folder:ROOT, davis:ROOT, refer-youtube-vos:ROOT, ..."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for compare.html, compare.md and the CSVs.")],
    names: Annotated[
        str | None, typer.Option(help="What to call them, as ours,theirs; their files' names else.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of the ground truth: valid, valid_u, train, ...")] = None,
    videos: VideosOption = None,
    force: ForceOption = False,
) -> None:
    """Compare two systems' masks: scores with intervals, curves for each frame, and pictures of where they differ."""
    from locater.datasets.catalog import find_source
    from locater.evaluation.external.compare import compare as compare_masks
    from locater.evaluation.external.compare_files import write_comparison
    from locater.io.results_folder import check_results_folder
    from locater.io.text_files import read_lines

    check_results_folder(out, force=force)
    comparison = compare_masks(
        first,
        second,
        find_source(truth),
        names=None if names is None else _two_names(names),
        split=split,
        videos=read_lines(videos) if videos else None,
    )
    say(write_comparison(comparison, out, force=force))
    say(f"Page: {out / 'compare.html'}")


def _two_names(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        raise LocaterError(f"'{text}' is no pair of names; write --names ours,theirs.")
    return parts[0], parts[1]


submission = typer.Typer(help="Zips for the benchmarks' servers.", no_args_is_help=True)


@submission.command("check")
def submission_check(
    file: Annotated[Path, typer.Argument(help="The zip.")],
    protocol: Annotated[str, typer.Option(help="refer_youtube_vos, mevis or ref_davis17.")],
    expressions: Annotated[
        Path | None, typer.Option(help="The split's meta_expressions.json, to find what is missing or too much.")
    ] = None,
    videos: VideosOption = None,
    frames: Annotated[Path | None, typer.Option(help="The split's JPEGImages, to compare sizes.")] = None,
) -> None:
    """List everything that is wrong with a submission, anybody's; exit code 2 if anything is."""
    from locater.evaluation.external.submission import find_protocol
    from locater.evaluation.external.submission_check import check_submission, read_expected

    problems = check_submission(file, find_protocol(protocol), read_expected(expressions, videos, frames))
    for problem in problems:
        say(problem)
    if problems:
        say(f"{file} cannot be handed in: {len(problems)} problem{'s' * (len(problems) > 1)}.")
        raise typer.Exit(2)
    complete = "complete and well formed" if expressions else "well formed; whether it is complete needs --expressions"
    say(f"{file}: {complete}.")
