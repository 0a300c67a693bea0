"""The command line: one function a command, heavy imports inside each, so that --help is instant."""

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from locater.errors import LocaterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress, Task

    from locater.inference.segmenter import Segmenter
    from locater.records import FrameSource

app = typer.Typer(
    help="Language-guided video segmentation: a video and a sentence in, that object's mask in every frame out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

DEFAULT_CHECKPOINT = "shapes"
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
    from locater.files import atomic_entries
    from locater.video.reader import open_source
    from locater.video.writer import check_formats

    formats = [name.strip() for name in format.split(",") if name.strip()]
    check_formats(formats)
    if not formats:
        raise LocaterError("No output format is left to write; name one with --format, for example overlay.")
    source = open_source(video)
    segmenter = _segmenter(checkpoint, device, precision)
    folder = out or Path(f"{Path(video).stem}.masks")
    with _plain_warnings(), atomic_entries(folder) as partial:
        frames = _write_results(segmenter, source, expressions, formats, partial, live)
        made = sorted(entry.name for entry in partial.iterdir())
    typer.echo(f"{frames} frames segmented into {folder}: {', '.join(made)}")


@app.command()
def info(target: Annotated[str, typer.Argument(help="A checkpoint (folder, shipped or hub name) or a video.")]) -> None:
    """Describe a checkpoint or a video."""
    import mimetypes

    from rich.console import Console
    from rich.table import Table

    # A mistyped clip.mp4 is a missing video, not the name of a checkpoint to look for on the hub.
    is_named_as_video = (mimetypes.guess_type(target)[0] or "").startswith("video/")
    is_missing = not Path(target).exists() and not is_named_as_video
    is_checkpoint = (Path(target) / "config.json").is_file() or is_missing
    rows = _checkpoint_rows(target) if is_checkpoint else _video_rows(target)
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
def train(
    preset: Annotated[str, typer.Argument(help="A preset's name; `locater presets` lists them.")],
    data: Annotated[str, typer.Option(help="What to train on: shapes.")],
    out: Annotated[Path, typer.Option(help="Folder of the run; a run that was interrupted there goes on.")],
    changes: Annotated[
        list[str], typer.Option("--set", help="A setting, as memory.write=paper or training.steps=100.")
    ] = [],  # noqa: B006
    start: Annotated[Path | None, typer.Option(help="A checkpoint folder of the same network to start from.")] = None,
    seed: Annotated[int, typer.Option(help="Of the weights and of the data.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that prepare batches.")] = 2,
    track: Annotated[list[str], typer.Option(help="More trackers, by accelerate's names: tensorboard, wandb.")] = [],  # noqa: B006
) -> None:
    """Train a preset; start it under `accelerate launch` or `torchrun` for many GPUs."""
    from locater.training.command import train_preset

    with _progress("steps/s") as progress:
        task = progress.add_task("training")
        scores = train_preset(
            preset,
            data,
            out,
            changes,
            start=start,
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


def _segmenter(checkpoint: str, device: str | None, precision: str) -> "Segmenter":
    from locater.inference.segmenter import PRECISIONS, load

    if precision not in PRECISIONS:
        raise LocaterError(f"There is no precision '{precision}'; choose one of {', '.join(PRECISIONS)}.")
    if device is not None:
        _check_device(device)
    segmenter = load(checkpoint, device, precision)
    if precision == "float16" and segmenter.device.type == "cpu":  # torch's CPU has no LSTM in it
        raise LocaterError("float16 needs a GPU; on the CPU choose bfloat16 or float32.")
    return segmenter


def _check_device(device: str) -> None:
    """Nothing, when something can be computed on the device."""
    import torch

    try:
        torch.zeros(1, device=device).item()  # reading it back also refuses `meta`, which computes nothing
    except (RuntimeError, AssertionError) as error:  # the latter: torch is built without CUDA
        reason = str(error).splitlines()[0].rstrip(".")
        raise LocaterError(f"The device '{device}' cannot be used: {reason}; choose cpu, cuda or cuda:1.") from None


def _write_results(
    segmenter: "Segmenter", source: "FrameSource", expressions: list[str], formats: list[str], folder: Path, live: bool
) -> int:
    """The number of frames segmented and written, with progress on the terminal."""
    from locater.video.writer import open_writers

    with _progress("frames/s") as progress, open_writers(formats, folder, source.info, expressions) as writers:
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
            count += 1
            progress.update(masking, completed=count)
        progress.update(looking, completed=count, total=count)
        progress.update(masking, completed=count, total=count)
    return count


def _checkpoint_rows(target: str) -> list[tuple[str, str]]:
    from locater.model.checkpoint import find_checkpoint, from_pretrained

    folder = find_checkpoint(target)
    model = from_pretrained(folder)
    config = model.config
    parameters = sum(parameter.numel() for parameter in model.parameters())
    state = model.start(model.text(model.read(["a"])))
    return [
        ("checkpoint", str(folder)),
        ("parameters", f"{parameters / 1e6:.2f} million"),
        ("frames", f"{config.image_size} x {config.image_size} in {config.grid} x {config.grid} patches"),
        ("visual encoder", config.visual.kind),
        ("text encoder", f"{config.text.kind}, {config.text.max_words} words"),
        ("fusion", f"{config.fusion.kind}, {config.fusion.modules} modules, width {config.width}"),
        (
            "memory",
            f"{config.global_cells} global and {config.local_cells} local cells, write '{config.memory.write}', "
            f"every {config.memory.interval}th frame",
        ),
        ("decoder", f"{config.decoder.query} query, {config.decoder.readout}, {config.decoder.upsampling}"),
        ("state of a video", f"{state.nbytes / 1e6:.2f} MB an expression, whatever its length"),
    ]


def _video_rows(target: str) -> list[tuple[str, str]]:
    from locater.video.reader import open_source

    facts = open_source(target).info

    def known(value: object, unit: str = "") -> str:
        return (
            "unknown" if value is None else f"{value:.6g} {unit}".rstrip() if isinstance(value, float) else str(value)
        )

    return [
        ("video", facts.name),
        ("size", f"{known(facts.width)} x {known(facts.height)}"),
        ("frames", known(facts.frame_count)),
        ("frames a second", known(facts.frames_per_second)),
        ("duration", known(facts.duration, "seconds")),
    ]


@contextmanager
def _progress(unit: str) -> "Iterator[Progress]":
    """A progress display on standard error with the speed and the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: "Task") -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.1f} {unit}")

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,  # a log file gets warnings and errors alone
    ) as progress:
        yield progress


@contextmanager
def _plain_warnings() -> "Iterator[None]":
    """Warnings as one line each, without the line of code that raised them."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: print(f"Warning: {_one_line(str(message))}", file=sys.stderr)
        yield


def _fail(message: str) -> NoReturn:
    print(f"Error: {_one_line(message)}", file=sys.stderr)
    raise SystemExit(2)


def _one_line(message: str) -> str:
    """The message without the line breaks that a file's name or a sentence brought in."""
    return " ".join(message.split())
