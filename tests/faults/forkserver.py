"""A process with everything imported, which forks a child for each command it is asked to run: `python -m` this.

Its arguments are further modules to import, which not every caller needs.

One line of JSON in, one out. A child has no thread of its parent, which computes nothing itself, so that it is what a
process of its own would be, without the seconds that importing takes.
"""

import importlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 120  # that a child may take
_IMPORTED = (
    "locater.cli.app", "locater.cli.segment", "locater.inference.segmenter", "locater.video.writer",
    "locater.training.command", "locater.training.finetune.report", "locater.training.average",
    "locater.training.second_look.command", "locater.evaluation.run.evaluate",
    "locater.evaluation.external.compare_files", "locater.contrast.build", "locater.explain.page",
    "locater.worlds.composed", "locater.bench.catalog",
    "tests.faults.writers",
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """One run of a writer."""

    writer: str
    inputs: str
    out: str
    is_prepared: bool = True  # False: make the writer's inputs instead
    effect: str = ""
    at: int = 0
    has_exchange: bool = True


@dataclass(frozen=True)
class Told:
    """How a run ended."""

    code: int  # negative: the signal that ended it
    error: str
    changes: list[str] = field(default_factory=list)
    work: int = 0  # calls of what the writer must not do twice


def main() -> None:
    """Serve until the input ends."""
    for name in (*_IMPORTED, *sys.argv[1:]):
        importlib.import_module(name)
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(_run(Asked(**json.loads(line))))), flush=True)


def _run(asked: Asked) -> Told:
    reader, writer = os.pipe()
    errors = Path(asked.out).with_name(f"{Path(asked.out).name}.err")
    child = os.fork()
    if child == 0:
        os.close(reader)
        code = 70
        try:
            code = _as_child(asked, errors, writer)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as report:
        lines = report.read().splitlines()
    _, status = os.waitpid(child, 0)
    text = errors.read_text("utf-8", "replace")
    errors.unlink()
    work = sum(line == "work" for line in lines)
    return Told(os.waitstatus_to_exitcode(status), text, [line for line in lines if line != "work"], work)


def _as_child(asked: Asked, errors: Path, report: int) -> int:
    from locater.cli.app import main as run_command
    from locater.errors import LocaterError
    from tests.faults.injecting import KILL, Faults
    from tests.faults.writers import WRITERS

    signal.alarm(_SECONDS)
    for number, place in ((1, os.devnull), (2, str(errors))):
        os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    writer = WRITERS[asked.writer]
    if not asked.is_prepared:
        writer.prepare(Path(asked.inputs))
        return 0
    tell: Callable[[str], None] = lambda what: _tell(report, what)  # noqa: E731
    for name in writer.counted:
        _count(name, tell)
    writer.patch(Path(asked.inputs))
    below = str(Path(asked.out).parent)
    faults = Faults(below, asked.effect, asked.at, asked.has_exchange, tell)
    faults.install()
    sys.argv = ["locater", *map(str, writer.words(Path(asked.inputs), Path(asked.out)))]
    try:
        if writer.run is not None:
            writer.run(Path(asked.out))
        else:
            run_command()
    except LocaterError as error:  # as the command tells it
        print(f"Error: {error}", file=sys.stderr)
        return 2
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        if asked.effect == KILL or not asked.effect:
            faults.change("end", below)
    return 0


def _tell(report: int, what: str) -> None:
    os.write(report, f"{what}\n".encode())


def _count(name: str, tell: Callable[[str], None]) -> None:
    """Tell of every call of `module:Class.function`, after it has ended well."""
    module, _, path = name.partition(":")
    *owners, last = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    own = getattr(owner, last)

    def counted(*arguments: Any, **named: Any) -> Any:
        result = own(*arguments, **named)
        tell("work")
        return result

    setattr(owner, last, counted)


if __name__ == "__main__":
    main()
