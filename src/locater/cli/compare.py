"""The command that sets two systems side by side: `locater compare`."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.options import ForceOption, VideosOption
from locater.errors import LocaterError

_MASKS = "A folder or zip of PNGs, or a JSON of COCO run lengths, as `locater score` reads them."


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
    typer.echo(write_comparison(comparison, out, force=force))
    typer.echo(f"Page: {out / 'compare.html'}")


def _two_names(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        raise LocaterError(f"'{text}' is no pair of names; write --names ours,theirs.")
    return parts[0], parts[1]
