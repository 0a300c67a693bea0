"""The commands about networks: `locater info`, `presets`, `init`, `export`."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.options import CheckpointArgument, PresetArgument


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


def presets(name: Annotated[str | None, typer.Argument(help="Print this preset's settings, whole.")] = None) -> None:
    """List the presets, or print one."""
    import yaml

    from locater.config import preset, preset_about, preset_names

    if name is not None:
        typer.echo(yaml.safe_dump(preset(name).model_dump(mode="json"), sort_keys=False).rstrip())
        return
    for each in preset_names():
        typer.echo(f"{each:<18}{preset_about(each)}")


def init(
    preset: PresetArgument,
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.")],
    seed: Annotated[int, typer.Option(help="For the weights that start at random.")] = 0,
) -> None:
    """Write an untrained checkpoint of a preset: a start for training, and for measuring speed and memory."""
    from locater.config import preset as find_preset
    from locater.model.build import build
    from locater.model.checkpoint import save_pretrained

    save_pretrained(build(find_preset(preset), seed), out)
    typer.echo(f"Untrained checkpoint of {preset}: {out}")


def export(
    checkpoint: CheckpointArgument,
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
