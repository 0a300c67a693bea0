"""A pack of drawn sprites for the composed world: `python -m experiments.ensemble.sprite_pack DIR`, with no download.

Eight classes on plain backgrounds, two of which the training split lacks. A network of 64 pixels learns them in minutes
of one core: `locater reproduce --miniature --small --data composed:DIR/pack_some` (docs/reproduction.md).
"""

import argparse
from pathlib import Path

from experiments.ensemble.sources import make_packs


def main() -> None:
    """Make the pack, and print where it is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    some, _ = make_packs(parser.parse_args().folder)
    print(some)


if __name__ == "__main__":
    main()
