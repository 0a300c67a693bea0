"""The command line, put together: `locater COMMAND`."""

import logging
import signal
import sys
from typing import Annotated, NoReturn

import typer

from locater.cli.batch import batch
from locater.cli.bench import bench
from locater.cli.checkpoints import average, export, info, init, presets
from locater.cli.contrast import contrast
from locater.cli.data import data
from locater.cli.ensemble import ensemble
from locater.cli.evaluate import compare, evaluate, score, submission
from locater.cli.explain import explain
from locater.cli.live import live
from locater.cli.paper.reproduce import reproduce
from locater.cli.process.stopping import INTERRUPTED, stopped
from locater.cli.segment import demo, segment
from locater.cli.serving.web import web
from locater.cli.terminal import PrintableFormatter, one_line, say
from locater.cli.train import ablate, finetune, second_look, train
from locater.errors import LocaterError

app = typer.Typer(
    help="Language-guided video segmentation: a video and a sentence in, that object's mask in every frame out.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (
    *(segment, batch, live, explain, demo, info, presets, init, average, export),
    *(train, finetune, evaluate, score, compare, ablate, reproduce, second_look, bench, web),
):
    app.command()(command)
for name, group in (("submission", submission), ("data", data), ("contrast", contrast), ("ensemble", ensemble)):
    app.add_typer(group, name=name)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from locater import __version__

        say(f"locater {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Language-guided video segmentation: a video and a sentence in, that object's mask in every frame out."""


def main() -> None:
    """Run the command; what a user can cause ends in one plain sentence and exit code 2."""
    if logging.lastResort is not None:  # where log lines go that nobody else takes
        logging.lastResort.setFormatter(PrintableFormatter())
    try:
        app()
    except LocaterError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        from locater.io.extras import how_to_install

        if (told := how_to_install(error.name or "")) is None:
            raise
        _fail(told)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer's answer to Ctrl-C
            stopped(signal.SIGINT)
        raise


def _fail(message: str) -> NoReturn:
    print(f"Error: {one_line(message)}", file=sys.stderr)
    raise SystemExit(2)
