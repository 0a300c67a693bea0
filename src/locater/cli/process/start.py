"""Where the command `locater` starts: signals are caught before anything that takes time is imported."""

import os
import signal

from locater.cli.process.stopping import Terminated, catch_signals, stopped

# What PyTorch's libraries read when they are loaded, where nobody has said otherwise.
_SETTINGS = {
    # Turns of a loop for which a thread waits awake for the others. With the library's own 300,000 a machine that does
    # something else as well takes eight times as long, as each keeps from its core what it waits for; on a quiet one
    # either is as fast (docs/benchmarks.md).
    "GOMP_SPINCOUNT": "10000",
    # Kernels that are kept, each for one shape. Crops have many shapes, and those that come again are among the last.
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "512",
}


def main() -> None:
    """Run the command."""
    catch_signals()
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        from locater.cli.app import main as run_command

        run_command()
    except KeyboardInterrupt:  # where typer is not yet, or no longer, there to catch it
        stopped(signal.SIGINT)
    except Terminated:
        stopped(signal.SIGTERM)
