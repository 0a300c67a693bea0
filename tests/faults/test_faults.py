"""Every writer is stopped at every change that it makes to the disk; another run leaves what an unharmed one leaves.

`pytest -m proof tests/faults` stops all of them at all changes, by a kill, a full disk and a read-only disk; the
default run does so at a few.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.injecting import FULL, KILL, READ_ONLY
from tests.faults.trials import Commands, begin, commands
from tests.faults.writers import ALL, WRITERS, Writer

EXCHANGED = [writer for writer in ALL if writer.is_replaced]


@pytest.fixture(scope="module")
def running() -> Iterator[Commands]:
    with commands() as found:
        yield found


@pytest.fixture(scope="module")
def running_all() -> Iterator[Commands]:
    with commands("torch._dynamo") as found:  # three seconds that any optimiser takes
        yield found


@pytest.mark.proof
@pytest.mark.parametrize("effect", [KILL, FULL, READ_ONLY])
@pytest.mark.parametrize("writer", ALL, ids=lambda writer: writer.name)
def test_every_writer_at_every_change(running_all: Commands, writer: Writer, effect: str, tmp_path: Path) -> None:
    trial = begin(running_all, writer, tmp_path / "trial")
    for at in trial.points(effect):
        trial.survives(effect, at)
    print(f"{writer.name}: {effect} at {len(trial.points(effect))} changes")


@pytest.mark.proof
@pytest.mark.parametrize("writer", EXCHANGED, ids=lambda writer: writer.name)
def test_where_two_names_cannot_be_exchanged_at_once(running_all: Commands, writer: Writer, tmp_path: Path) -> None:
    trial = begin(running_all, writer, tmp_path / "trial", has_exchange=False)
    for at in trial.points(KILL):
        trial.survives(KILL, at)
    print(f"{writer.name}, two renames: {KILL} at {len(trial.points(KILL))} changes")


MOVES = ("exchange", "os.rename", "fsync")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["segment again", "evaluate", "data cutout", "review decisions"])
def test_a_few_writers_at_their_moves(running: Commands, name: str, tmp_path: Path) -> None:
    """The slice of the default run: kills where a name or a file becomes good, and right after."""
    trial = begin(running, WRITERS[name], tmp_path / "trial")
    moves = [place for place, change in enumerate(trial.changes, start=1) if change.startswith(MOVES)]
    assert moves
    chosen = sorted({place + after for place in moves[-2:] for after in (0, 1)})
    for at in chosen:
        trial.survives(KILL, at)
    for effect in (FULL, READ_ONLY):
        trial.survives(effect, moves[0])
