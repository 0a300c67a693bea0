"""What MobileSAM knows of points, out of its weights: the few numbers that a refiner needs to be clicked at.

    python -m tools.points mobile_sam.safetensors src/locater/model/visual/points.safetensors

`mobile_sam.safetensors` is what `python -m tools.convert` makes of MobileSAM's own file (Apache-2.0).
"""

import argparse
from pathlib import Path

from safetensors.torch import load_file, save_file

from locater.model.visual.layouts import POINTS


def take_points(weights: Path, out: Path) -> None:
    """Write the tensors of points in half precision, under our names."""
    tensors = load_file(weights)
    save_file({ours: tensors[theirs].half().contiguous() for theirs, ours in POINTS.items()}, out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    take_points(given.weights, given.out)
