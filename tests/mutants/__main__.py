"""`python -m tests.mutants`: every mutant must die."""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from tests.mutants.catalog import MUTANTS
from tests.mutants.runner import FailingTestsError, Outcome, Verdict, run_mutants

PROJECT = Path(__file__).parents[2]


def main() -> int:
    """0 when every mutant is killed, 1 when one survives or cannot be tried, 2 for a wrong name."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="Do the tests notice these bugs?")
    parser.add_argument("--only", metavar="NAME", action="append", help="this mutant alone; may be given again")
    parser.add_argument("--list", action="store_true", help="name them all and run none")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at a time")
    asked = parser.parse_args()
    unknown = set(asked.only or ()) - {mutant.name for mutant in MUTANTS}
    if unknown:
        parser.error(f"there is no mutant {min(unknown)}; --list names them all.")
    chosen = [mutant for mutant in MUTANTS if not asked.only or mutant.name in asked.only]
    if asked.list:
        for mutant in chosen:
            print(f"{mutant.name:40} {mutant.file:40} {mutant.why}")
        return 0
    started_at = time.monotonic()
    try:
        outcomes = run_mutants(chosen, PROJECT, asked.jobs, listen=_say)
    except FailingTestsError as error:
        print(error, file=sys.stderr)
        return 1
    counts = Counter(outcome.verdict for outcome in outcomes)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    print(f"{told} in {time.monotonic() - started_at:.0f} s")
    return 0 if counts[Verdict.KILLED] == len(outcomes) else 1


def _say(outcome: Outcome) -> None:
    print(f"{outcome.verdict:9} {outcome.mutant.name:40} {outcome.seconds:6.1f} s  {outcome.detail}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
