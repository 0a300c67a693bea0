"""The commands about networks: `locater info`, `presets`, `init`, `average`, `export`."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.options import CheckpointArgument, ForceOption, PresetArgument, read_weights
from locater.cli.terminal import one_line, say


def info(target: Annotated[str, typer.Argument(help="A checkpoint (folder, shipped or hub name) or a video.")]) -> None:
    """Describe a checkpoint or a video."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from locater.inference.describe import checkpoint_facts, video_facts
    from locater.video.finding import is_named_as_video

    # A mistyped clip.mp4 is a missing video, not the name of a checkpoint to look for on the hub.
    is_missing = not Path(target).exists() and not is_named_as_video(target)
    is_checkpoint = (Path(target) / "config.json").is_file() or is_missing
    rows = checkpoint_facts(target) if is_checkpoint else video_facts(target)
    table = Table(show_header=False, box=None)
    for name, value in rows:
        table.add_row(name, Text(one_line(value)))
    Console().print(table)


def presets(name: Annotated[str | None, typer.Argument(help="Print this preset's settings, whole.")] = None) -> None:
    """List the presets, or print one."""
    import yaml

    from locater.config import preset
    from locater.presets import preset_about, preset_names

    if name is not None:
        say(yaml.safe_dump(preset(name).model_dump(mode="json"), sort_keys=False).rstrip())
        return
    for each in preset_names():
        say(f"{each:<18}{preset_about(each)}")


def init(
    preset: PresetArgument,
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.")],
    seed: Annotated[int, typer.Option(help="For the weights that start at random.")] = 0,
    force: ForceOption = False,
) -> None:
    """Write an untrained checkpoint of a preset: a start for training, and for measuring speed and memory."""
    from locater.config import preset as find_preset
    from locater.model.build import build
    from locater.model.checkpoint import check_checkpoint_folder, save_pretrained

    check_checkpoint_folder(out, force)
    save_pretrained(build(find_preset(preset), seed), out)
    say(f"Untrained checkpoint of {preset}: {out}")


def average(
    checkpoints: Annotated[list[str], typer.Argument(help="Two or more: folders, shipped names or hub names.")],
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.")],
    weights: Annotated[
        str | None, typer.Option(help="One for each, as 0.7,0.3; without it all weigh the same.")
    ] = None,
    part: Annotated[
        list[str], typer.Option(help="Weights of one part, as text=0,1; parts are named as in training.rates.")
    ] = [],  # noqa: B006
    half: Annotated[bool, typer.Option("--half", help="Store fp16, a refiner's matrices in int8, as shipped.")] = False,
    force: ForceOption = False,
) -> None:
    """Write the weighted mean of checkpoints of one network."""
    from locater.config import parse_settings
    from locater.model.checkpoint import check_checkpoint_folder, from_pretrained, save_pretrained
    from locater.training.average import average as mean
    from locater.training.recipe import AverageConfig

    check_checkpoint_folder(out, force)
    of_parts = {name: read_weights(text) for name, _, text in (each.partition("=") for each in part)}
    overall = [1.0] * len(checkpoints) if weights is None else read_weights(weights)
    values = {"of": checkpoints, "weights": overall, "parts": of_parts}
    config = parse_settings(AverageConfig, values, "locater average")
    save_pretrained(mean([from_pretrained(each) for each in checkpoints], config), out, half=half)
    say(f"Average of {len(checkpoints)} checkpoints: {out}")


def export(
    checkpoint: CheckpointArgument,
    out: Annotated[Path, typer.Option(help="Folder for the graphs.")],
    to: Annotated[str, typer.Option(help="The format: onnx.")] = "onnx",
    force: ForceOption = False,
) -> None:
    """Write a checkpoint as files that run without PyTorch, checked against it."""
    from locater.export.onnx_files import export as write_files
    from locater.io.results_folder import check_results_folder
    from locater.model.checkpoint import find_checkpoint, from_pretrained, load_second_look

    check_results_folder(out, force=force)
    folder = find_checkpoint(checkpoint)
    report = write_files(from_pretrained(folder), out, to, force=force, second_look=load_second_look(folder))
    for name, size in report.file_bytes.items():
        say(f"{name:<18}{size / 1e6:8.2f} MB")
    say(f"Largest difference of a logit from PyTorch's: {report.largest_difference:.1e}")
    say(
        f"One sentence, one CPU thread, float32: PyTorch {report.torch_frames_per_second:.1f} frames/s, "
        f"onnxruntime {report.exported_frames_per_second:.1f} frames/s"
    )
    say(f"Exported to {out}; `locater-lite` runs it (docs/export.md).")
