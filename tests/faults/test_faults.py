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


@pytest.mark.proof
@pytest.mark.parametrize("effect", [KILL, FULL, READ_ONLY])
@pytest.mark.parametrize("writer", ALL, ids=lambda writer: writer.name)
def test_every_writer_at_every_change(running: Commands, writer: Writer, effect: str, tmp_path: Path) -> None:
    trial = begin(running, writer, tmp_path / "trial")
    for at in range(1, len(trial.changes) + (effect == KILL)):
        trial.survives(effect, at)
    print(f"{writer.name}, {effect}: {len(trial.changes)}")
