"""The command line, put together: `locater COMMAND`."""

import sys
from typing import NoReturn

import typer

from locater.cli.bench import bench
from locater.cli.checkpoints import average, export, info, init, presets
from locater.cli.contrast import contrast
from locater.cli.data import data
from locater.cli.evaluate import evaluate, score, submission
from locater.cli.segment import demo, segment
from locater.cli.terminal import one_line
from locater.cli.train import ablate, train
from locater.cli.web import web
from locater.errors import LocaterError

INTERRUPTED = 130  # 128 + SIGINT, as shells count

app = typer.Typer(
    help="Language-guided video segmentation: a video and a sentence in, that object's mask in every frame out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (segment, demo, info, presets, init, average, export, train, evaluate, score, ablate, bench, web):
    app.command()(command)
for name, group in (("submission", submission), ("data", data), ("contrast", contrast)):
    app.add_typer(group, name=name)


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


def _fail(message: str) -> NoReturn:
    print(f"Error: {one_line(message)}", file=sys.stderr)
    raise SystemExit(2)
