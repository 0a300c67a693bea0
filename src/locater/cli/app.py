"""The command line: one function a command, heavy imports inside each, so that --help is instant."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from locater.cli.bench import bench
from locater.cli.contrast import contrast
from locater.cli.data import data
from locater.cli.terminal import one_line, plain_warnings, progress_display
from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from locater.inference.segmenter import Segmenter
    from locater.records import FrameResult, FrameSource

app = typer.Typer(
    help="Language-guided video segmentation: a video and a sentence in, that object's mask in every frame out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data, name="data")
app.add_typer(contrast, name="contrast")
app.command()(bench)

DEFAULT_CHECKPOINT = "default"
INTERRUPTED = 130  # 128 + SIGINT, as shells count


def main() -> None:
    """Run the command; what a user can cause ends in one plain sentence and exit code 2."""
    try:
        app()
    except LocaterError as error:
        _fail(str(error))
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer's answer to Ctrl-C
            print("Interrupted; nothing half-written is left.", file=sys.stderr)
        raise


@app.command()
def segment(
    video: Annotated[str, typer.Argument(help="A video file, or a folder of images.")],
    expressions: Annotated[list[str], typer.Argument(help='What to segment: "the dog on the left" "the other dog".')],
    out: Annotated[Path | None, typer.Option(help="Folder for the results; by default VIDEO's name + .masks.")] = None,
    format: Annotated[
        str, typer.Option(help="Any of overlay (mp4), png (DAVIS palette), rle (COCO), sheet.")
    ] = "overlay,png,rle",
    checkpoint: Annotated[str, typer.Option(help="A folder, a shipped name or a hub name.")] = DEFAULT_CHECKPOINT,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ...; the best one by default.")] = None,
    precision: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
    live: Annotated[
        bool, typer.Option(help="Read once, as a camera would be: no knowledge of what comes later.")
    ] = False,
) -> None:
    """Write the masks of every expression in every frame of a video."""
    from locater.io.atomic import atomic_entries
    from locater.video.reader import open_source
    from locater.video.writer import check_formats

    formats = [name.strip() for name in format.split(",") if name.strip()]
    check_formats(formats)
    if not formats:
        raise LocaterError("No output format is left to write; name one with --format, for example overlay.")
    source = open_source(video)
    segmenter = _segmenter(checkpoint, device, precision)
    folder = out or Path(f"{Path(video).stem}.masks")
    with plain_warnings(), atomic_entries(folder) as partial:
        frames = _write_results(segmenter, source, expressions, formats, partial, live)
        made = sorted(entry.name for entry in partial.iterdir())
    typer.echo(f"{frames} frames segmented into {folder}: {', '.join(made)}")


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the clip and its results.")] = Path("demo"),
    checkpoint: Annotated[str, typer.Option(help="A folder, a shipped name or a hub name.")] = DEFAULT_CHECKPOINT,
) -> None:
    """Segment a short clip by some sentences, and say how right the masks are."""
    from locater.inference.demo import clip_for
    from locater.io.atomic import atomic_entries
    from locater.video.reader import open_source

    segmenter = _segmenter(checkpoint, None, "float32")
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


@app.command()
def info(target: Annotated[str, typer.Argument(help="A checkpoint (folder, shipped or hub name) or a video.")]) -> None:
    """Describe a checkpoint or a video."""
    import mimetypes

    from rich.console import Console
    from rich.table import Table

    from locater.inference.describe import checkpoint_facts, video_facts

    # A mistyped clip.mp4 is a missing video, not the name of a checkpoint to look for on the hub.
    is_named_as_video = (mimetypes.guess_type(target)[0] or "").startswith("video/")
    is_missing = not Path(target).exists() and not is_named_as_video
    is_checkpoint = (Path(target) / "config.json").is_file() or is_missing
    rows = checkpoint_facts(target) if is_checkpoint else video_facts(target)
    table = Table(show_header=False, box=None)
    for name, value in rows:
        table.add_row(name, value)
    Console().print(table)


@app.command()
def presets(name: Annotated[str | None, typer.Argument(help="Print this preset's settings, whole.")] = None) -> None:
    """List the presets, or print one."""
    import yaml

    from locater.config import preset, preset_about, preset_names

    if name is not None:
        typer.echo(yaml.safe_dump(preset(name).model_dump(mode="json"), sort_keys=False).rstrip())
        return
    for each in preset_names():
        typer.echo(f"{each:<18}{preset_about(each)}")


@app.command()
def init(
    preset: Annotated[str, typer.Argument(help="A preset's name; `locater presets` lists them.")],
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.")],
    seed: Annotated[int, typer.Option(help="For the weights that start at random.")] = 0,
) -> None:
    """Write an untrained checkpoint of a preset: a start for training, and for measuring speed and memory."""
    from locater.config import preset as find_preset
    from locater.model.build import build
    from locater.model.checkpoint import save_pretrained

    save_pretrained(build(find_preset(preset), seed), out)
    typer.echo(f"Untrained checkpoint of {preset}: {out}")


@app.command()
def export(
    checkpoint: Annotated[str, typer.Argument(help="A folder, a shipped name or a hub name.")],
    out: Annotated[Path, typer.Option(help="Folder for the graphs; one that is there is replaced as a whole.")],
    to: Annotated[str, typer.Option(help="The format: onnx.")] = "onnx",
) -> None:
    """Write a checkpoint as files that run without PyTorch, checked against it."""
    from locater.export.onnx_files import export as write_files
    from locater.model.checkpoint import from_pretrained

    report = write_files(from_pretrained(checkpoint), out, to)
    for name, size in report.file_bytes.items():
        typer.echo(f"{name:<18}{size / 1e6:8.2f} MB")
    typer.echo(f"Largest difference of a logit from PyTorch's: {report.largest_difference:.1e}")
    typer.echo(
        f"One sentence, one CPU thread, float32: PyTorch {report.torch_frames_per_second:.1f} frames/s, "
        f"onnxruntime {report.exported_frames_per_second:.1f} frames/s"
    )
    typer.echo(f"Exported to {out}; docs/export.md shows how to run it.")


@app.command()
def train(
    preset: Annotated[str, typer.Argument(help="A preset's name; `locater presets` lists them.")],
    data: Annotated[str, typer.Option(help="What to train on: shapes, composed:PACK, or DATASET:ROOT.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run that was interrupted there goes on.")],
    changes: Annotated[
        list[str], typer.Option("--set", help="A setting, as memory.write=paper or training.steps=100.")
    ] = [],  # noqa: B006
    start: Annotated[Path | None, typer.Option(help="A checkpoint folder of the same network to start from.")] = None,
    start_fits: Annotated[
        bool, typer.Option("--start-fits", help="Of another network: take the weights that fit, begin the rest afresh.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the weights and of the data.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that prepare batches.")] = 2,
    track: Annotated[list[str], typer.Option(help="More trackers, by accelerate's names: tensorboard, wandb.")] = [],  # noqa: B006
) -> None:
    """Train a preset; start it under `accelerate launch` or `torchrun` for many GPUs."""
    from locater.training.command import train_preset

    with progress_display("steps/s") as progress:
        task = progress.add_task("training")
        scores = train_preset(
            preset,
            data,
            out,
            changes,
            start=start,
            is_start_partial=start_fits,
            seed=seed,
            workers=workers,
            trackers=tuple(track),
            listen=lambda at: progress.update(
                task,
                completed=at.step,
                total=at.steps,
                description=f"loss {at.loss:.4f}, {at.clips_per_second:.0f} clips/s",
            ),
        )
    for kind, score in scores.items():
        typer.echo(f"{kind:<14}{score:.3f}")
    typer.echo(f"Checkpoint: {out / 'checkpoint'}")


@app.command()
def evaluate(
    checkpoint: Annotated[str, typer.Argument(help="A folder, a shipped name or a hub name.")],
    dataset: Annotated[str, typer.Argument(help="shapes, composed, positions, or a dataset, as refer-youtube-vos.")],
    out: Annotated[Path, typer.Option(help="Folder of the results; a run that was interrupted there goes on.")],
    root: Annotated[Path | None, typer.Argument(help="The folder the dataset was unpacked in.")] = None,
    split: Annotated[str | None, typer.Option(help="test, valid, ...; the dataset's usual one by default.")] = None,
    count: Annotated[
        int | None, typer.Option(help="Of a world: videos a kind of sentence, 100 by default; of positions 200 scenes.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first so many questions.")] = None,
    submission: Annotated[Path | None, typer.Option(help="Also write this zip, to hand in.")] = None,
    failures: Annotated[int, typer.Option(help="Pictures of so many of the worst answers.")] = 12,
    contrast: Annotated[str, typer.Option(help="Of davis: also joined pairs, as spatial,temporal.")] = "",
    device: Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, ...; the best one by default.")] = None,
    precision: Annotated[str, typer.Option(help="float32, bfloat16 or float16.")] = "float32",
) -> None:
    """Score a checkpoint on a dataset or a world; start it under `torchrun` for many GPUs."""
    from locater.evaluation.report.tables import as_markdown
    from locater.evaluation.run.evaluate import Asked
    from locater.evaluation.run.evaluate import evaluate as run_evaluation
    from locater.evaluation.run.processes import place_among_processes

    place = place_among_processes()
    contrasts = tuple(dict.fromkeys(name.strip() for name in contrast.split(",") if name.strip()))
    asked = Asked(checkpoint, dataset, out, root, split, count, limit, submission, failures, contrasts)
    segmenter = _segmenter(checkpoint, place.device(device), precision)
    with progress_display("questions/s") as progress:
        task = progress.add_task("answering", visible=place.is_first)
        finished = run_evaluation(
            asked,
            segmenter,
            place,
            listen=lambda at: progress.update(
                task, completed=at.answered, total=at.questions, description=f"answering, {at.frames} frames"
            ),
        )
    if finished.not_understood:
        print(
            f"Warning: {len(finished.not_understood)} sentences are not wholly understood; the first: "
            f"{one_line(finished.not_understood[0])}",
            file=sys.stderr,
        )
    if finished.results is not None:
        typer.echo(as_markdown(finished.results))
        typer.echo(f"Results: {out}")


@app.command()
def score(
    predictions: Annotated[Path, typer.Argument(help="A folder or zip of PNGs, or a JSON of COCO run lengths.")],
    ground_truth: Annotated[Path, typer.Argument(help="The dataset's folder; of a2d, its masks in COCO's format.")],
    protocol: Annotated[str, typer.Option(help="davis, a2d, refer_youtube_vos, mevis or ref_davis17.")],
    split: Annotated[str | None, typer.Option(help="Of the ground truth: valid, valid_u, train, ...")] = None,
    videos: Annotated[Path | None, typer.Option(help="A file that lists the videos to score, one a line.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the scores to this JSON.")] = None,
) -> None:
    """Score any system's masks by the same code as our own."""
    from locater.evaluation.external.score import score as score_masks

    judged = score_masks(predictions, ground_truth, protocol, videos=videos, split=split)
    if out is not None:
        judged.save(out)
    typer.echo(judged.text)


submission_app = typer.Typer(help="Zips for the benchmarks' servers.", no_args_is_help=True)
app.add_typer(submission_app, name="submission")


@submission_app.command("check")
def submission_check(
    file: Annotated[Path, typer.Argument(help="The zip.")],
    protocol: Annotated[str, typer.Option(help="refer_youtube_vos, mevis or ref_davis17.")],
    expressions: Annotated[
        Path | None, typer.Option(help="The split's meta_expressions.json, to find what is missing or too much.")
    ] = None,
    videos: Annotated[Path | None, typer.Option(help="A file that lists which of its videos are asked for.")] = None,
    frames: Annotated[Path | None, typer.Option(help="The split's JPEGImages, to compare sizes.")] = None,
) -> None:
    """List everything that is wrong with a submission, anybody's; exit code 2 if anything is."""
    from locater.evaluation.external.submission import find_protocol
    from locater.evaluation.external.submission_check import check_submission, read_expected

    problems = check_submission(file, find_protocol(protocol), read_expected(expressions, videos, frames))
    for problem in problems:
        typer.echo(problem)
    if problems:
        typer.echo(f"{file} cannot be handed in: {len(problems)} problem{'s' * (len(problems) > 1)}.")
        raise typer.Exit(2)
    complete = "complete and well formed" if expressions else "well formed; whether it is complete needs --expressions"
    typer.echo(f"{file}: {complete}.")


@app.command()
def ablate(
    table: Annotated[str, typer.Argument(help="key_components, memories, fusion_modules, memory_capacity, ...")],
    data: Annotated[list[str], typer.Option(help="What to train on, as in `train`; further ones are scored too.")],
    out: Annotated[Path, typer.Option(help="Folder of the runs and of the table; finished runs are kept.")],
    preset: Annotated[str, typer.Option(help="The network that the rows change.")] = "shapes",
    seeds: Annotated[int, typer.Option(help="Runs of each row.", min=1)] = 3,
    changes: Annotated[list[str], typer.Option("--set", help="A setting of every row, as training.steps=1000.")] = [],  # noqa: B006
    side_by_side: Annotated[int, typer.Option(help="Runs at a time on this machine.", min=1)] = 1,
    workers: Annotated[int, typer.Option(help="Processes a run that prepare batches.")] = 2,
    start: Annotated[
        Path | None, typer.Option(help="A checkpoint folder: every run begins with those of its weights that fit.")
    ] = None,
) -> None:
    """Train and score every row of one of the paper's ablation tables, and print it beside the paper's numbers."""
    from locater.training.ablation import run_table, write_table

    rows = run_table(
        table, preset, data, out, seeds=seeds, changes=changes, side_by_side=side_by_side, workers=workers, start=start
    )
    typer.echo(write_table(table, rows, out))


def _segmenter(checkpoint: str, device: str | None, precision: str) -> "Segmenter":
    from locater.inference.segmenter import PRECISIONS, load

    if precision not in PRECISIONS:
        raise LocaterError(f"There is no precision '{precision}'; choose one of {', '.join(PRECISIONS)}.")
    if device is not None:
        _check_device(device)
    return load(checkpoint, device, precision)


def _check_device(device: str) -> None:
    """Nothing, when something can be computed on the device."""
    import torch

    try:
        torch.zeros(1, device=device).item()  # reading it back also refuses `meta`, which computes nothing
    except (RuntimeError, AssertionError) as error:  # the latter: torch is built without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        raise LocaterError(f"The device '{device}' cannot be used: {reason}; choose cpu, cuda or cuda:1.") from None


def _write_results(
    segmenter: "Segmenter",
    source: "FrameSource",
    expressions: list[str],
    formats: list[str],
    folder: Path,
    live: bool,
    on_result: "Callable[[FrameResult], None] | None" = None,
) -> int:
    """The number of frames segmented and written, with progress on the terminal."""
    from locater.video.writer import open_writers

    with progress_display("frames/s") as progress, open_writers(formats, folder, source.info, expressions) as writers:
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


def _fail(message: str) -> NoReturn:
    print(f"Error: {one_line(message)}", file=sys.stderr)
    raise SystemExit(2)
