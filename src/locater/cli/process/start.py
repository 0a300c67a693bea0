"""Where the command `locater` starts: signals are caught before anything that takes time is imported."""

import signal

from locater.cli.process.stopping import Terminated, catch_signals, stopped


def main() -> None:
    """Run the command."""
    catch_signals()
    try:
        from locater.cli.app import main as run_command

        run_command()
    except KeyboardInterrupt:  # where typer is not yet, or no longer, there to catch it
        stopped(signal.SIGINT)
    except Terminated:
        stopped(signal.SIGTERM)
