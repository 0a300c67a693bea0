"""`make fuzz SECONDS=600`: every target in turn, with new damage each time; what breaks one is kept and told."""

import argparse
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

from tests.fuzz.damage import damaged
from tests.fuzz.targets import TARGETS


def main() -> None:
    """Fuzz until the time is up; exit code 1 where something broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="of the first damage; another every time by default")
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--kept", type=Path, default=Path("build/fuzz"), help="where inputs that broke something go")
    asked = parser.parse_args()
    first = random.SystemRandom().randrange(2**40) if asked.seed is None else asked.seed
    names = asked.target or list(TARGETS)
    broken = 0
    with tempfile.TemporaryDirectory() as place:
        for name in names:
            broken += _fuzz(name, Path(place) / name, first, asked.seconds / len(names), asked.kept)
    print(f"seed {first}: {broken} broken")
    sys.exit(1 if broken else 0)


def _fuzz(name: str, place: Path, first: int, seconds: float, kept: Path) -> int:
    target = TARGETS[name]
    for folder in ("whole", "damaged"):
        (place / folder).mkdir(parents=True)
    corpus = target.corpus(place / "whole")
    until = time.monotonic() + seconds
    tried = results = broken = 0
    while time.monotonic() < until:
        content = damaged(corpus[tried % len(corpus)], corpus, first + tried)
        tried += 1
        try:
            results += target.run(content, place / "damaged")
        except Exception:
            broken += 1
            kept.mkdir(parents=True, exist_ok=True)
            (kept / f"{name}-{first + tried - 1}").write_bytes(content)
            traceback.print_exc()
    refused = tried - results - broken
    print(f"{name:<10}{tried:>8} tried, {results} read, {refused} refused, {broken} broken", flush=True)
    return broken


if __name__ == "__main__":
    main()
