"""The command `locater reproduce`: the paper's tables and figures."""

from pathlib import Path
from typing import Annotated

import typer

from locater.cli.terminal import say
from locater.errors import LocaterError


def reproduce(
    tables: Annotated[
        list[str] | None,
        typer.Argument(help="tab:a2dsota, fig:quali, ..., or all; none lists them.", metavar="[TABLE]..."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the runs and of the tables; a run that was stopped there goes on.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME[:ROOT]", help="The paper's data that you have, as a2d-sentences:~/data/a2d."),
    ] = None,
    miniature: Annotated[
        bool, typer.Option("--miniature", help="Without the data: smaller networks, on the shapes world.")
    ] = False,
    small: Annotated[bool, typer.Option("--small", help="With --miniature, for a CPU: all begin with one.")] = False,
    seeds: Annotated[int, typer.Option(help="Runs of each row.", min=1)] = 3,
    minutes: Annotated[float | None, typer.Option(help="Stop after the piece that passes so many.", min=0)] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of every network, as training.steps=100.")
    ] = None,
    count: Annotated[int, typer.Option(help="Of a world: videos to score per kind of sentence.", min=1)] = 16,
    limit: Annotated[int | None, typer.Option(help="Of a dataset: score only the first so many questions.")] = None,
    workers: Annotated[int, typer.Option(help="Processes of each training that prepare batches.", min=0)] = 2,
    start: Annotated[
        Path | None, typer.Option(help="A checkpoint folder: every run begins with those of its weights that fit.")
    ] = None,
) -> None:
    """Run the paper's tables and figures, and write each beside what is printed; without a name, list them."""
    from locater.reproduce.catalog import find_items
    from locater.reproduce.command import listing
    from locater.reproduce.command import reproduce as run
    from locater.reproduce.setup import Setup, in_miniature, on_own_data
    from locater.training.ablation.scoring import Amount

    folder = out or Path()
    stands = in_miniature(data or [], folder) if miniature else on_own_data(data or [])
    setup = Setup(folder, stands, miniature, seeds, tuple(changes or ()), Amount(count, limit), workers, start, small)
    if not tables:
        say(listing(setup).markdown())
        return
    items = find_items(tables)
    if out is None:
        raise LocaterError("Where to? Name a folder for the runs and the tables with --out DIR.")
    done = run(setup, items, minutes, lambda what: say(what, to_error=True))
    for text in done.texts:
        say(text)
    if done.pieces_left:
        say(f"{done.pieces_left} pieces are left; the same command goes on.")
    say(f"Tables: {out}")
