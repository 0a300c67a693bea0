"""Where the command `locater` starts: signals are caught before anything that takes time is imported."""

import os
import signal

from locater.cli.process.stopping import Terminated, catch_signals, stopped

# For so many turns of a loop a thread of PyTorch's waits awake for the others, where nobody has said otherwise. With
# the library's own 300,000 a machine that does something else as well takes eight times as long, as each keeps from its
# core what it waits for; on a quiet one either is as fast (docs/benchmarks.md).
_TURNS_AWAKE = "10000"


def main() -> None:
    """Run the command."""
    catch_signals()
    os.environ.setdefault("GOMP_SPINCOUNT", _TURNS_AWAKE)
    try:
        from locater.cli.app import main as run_command

        run_command()
    except KeyboardInterrupt:  # where typer is not yet, or no longer, there to catch it
        stopped(signal.SIGINT)
    except Terminated:
        stopped(signal.SIGTERM)
