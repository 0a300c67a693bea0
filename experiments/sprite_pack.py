"""A pack of drawn sprites for the composed world, without any download: `python -m experiments.sprite_pack DIR`.

Eight classes on plain backgrounds, two of which the training split lacks. A network of 64 pixels learns them in minutes
of one core: `locater reproduce --miniature --small --data composed:DIR/pack_some` (docs/reproduction.md).
"""

import sys
from pathlib import Path

from experiments.ensemble.sources import make_packs

if __name__ == "__main__":
    some, _ = make_packs(Path(sys.argv[1]))
    print(some)
