"""What empty masks score: `python -m experiments.miniature.empty_masks composed:PACK --split test --count 6`.

The IoU of two empty masks is 1, so it is the share of each question's frames in which nothing is meant. A network below
it would do better to mark nothing.
"""

import argparse
from collections import defaultdict

from locater.datasets.catalog import find_source
from locater.datasets.drawn_worlds import Drawing


def main() -> None:
    """Print the mean over questions, of each kind and of all, in per cent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", help="NAME[:ROOT], as of locater evaluate")
    parser.add_argument("--split", default=None)
    parser.add_argument("--count", type=int, default=16, help="of a world: videos per kind of sentence")
    asked = parser.parse_args()
    source = find_source(asked.data)
    drawing = Drawing(asked.count) if source.entry.is_drawn else Drawing(None)
    dataset = source.open(source.find_split(asked.split), drawing)
    shares: dict[str, list[float]] = defaultdict(list)
    for info in dataset.samples():
        masks = dataset.load(info).masks
        share = sum(not mask.any() for mask in masks.values()) / len(masks)
        for name in (info.kind or "of no kind", "all"):
            shares[name].append(share)
    for name, values in sorted(shares.items()):
        print(f"{name:<14}{100 * sum(values) / len(values):6.1f}  of {len(values)}")


if __name__ == "__main__":
    main()
