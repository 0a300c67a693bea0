"""How sharp are masks that are refined in whole frames, and in crops of the video's own pixels?

    python -m experiments.masks.edges CHECKPOINT DATA [--limit 200]

Of questions on what is there, in the first annotated frame, where the network's own mask has an IoU above .3 with the
truth: J and F of that mask, redrawn in the whole frame as `--best` does, and in a crop as a CPU does by default. In the
checkpoint's default precision; without the second look.
"""

import argparse
import warnings
from collections.abc import Iterator
from itertools import islice

import numpy as np
import torch

from locater.datasets.catalog import find_source
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.inference.async_results import THRESHOLD
from locater.inference.averaged_views import PLAIN
from locater.inference.chunks import ChunkMasks, Plan
from locater.inference.effort import DEFAULT_CELLS
from locater.inference.redrawing import LARGE
from locater.inference.segmenter import Segmenter, load
from locater.records import Frame, Mask, Sample
from locater.video.transforms import resize_soft

FOUND = 0.3
WAYS = ("as found", "whole frame", "own pixels")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("data", help="NAME:ROOT, as `locater evaluate` takes it.")
    parser.add_argument("--limit", type=int, default=200)
    asked = parser.parse_args()
    torch.set_num_threads(1)  # two that share the cores with another program wait for each other
    segmenter = load(asked.checkpoint, "cpu")
    assert segmenter.chunks.effort.refined_cells == DEFAULT_CELLS
    data = find_source(asked.data).open()
    rows = []
    warnings.simplefilter("ignore")  # words that are not understood
    for info in islice((each for each in data.samples() if "absent" not in each.kind), asked.limit):
        sample = data.load(info)
        frame, truth = _first(sample)
        found = [
            compare(PackedMask.of(mask), PackedMask.of(truth)) for mask in _masks(segmenter, frame, info.expression)
        ]
        rows.append([truth.mean(), *((each.iou, each.boundary_f) for each in found)])
    found_rows = [row for row in rows if row[1][0] > FOUND]
    print(f"{len(rows)} questions, {len(found_rows)} found")
    parts = {"all found": found_rows}
    parts[f"below {LARGE:.0%} of the frame"] = [row for row in found_rows if row[0] < LARGE]
    for name, some in parts.items():
        print(f"{name}, {len(some)}")
        for place, way in enumerate(WAYS, start=1):
            j, f = np.mean([row[place] for row in some], axis=0)
            print(f"  {way:12} J {j:.3f}  F {f:.3f}")


def _first(sample: Sample) -> tuple[Frame, Mask]:
    index = min(sample.masks)
    return next(iter(sample.frames.frames(start=index))), sample.masks[index]


def _masks(segmenter: Segmenter, frame: Frame, sentence: str) -> Iterator[Mask]:
    """The mask in each of the ways, at the frame's size."""
    chunks, size = segmenter.chunks, frame.pixels.shape[:2]
    with torch.inference_mode():
        words = segmenter.read_words((sentence,), anyway=True)
        frames, times = chunks.input([frame], None)
        state = segmenter._network(words, PLAIN).initial_state()
        coarse = chunks.segment(frames, times, words, state, Plan((0,), is_refined=False), is_full=False)
        whole = chunks.model.refined(frames.to(chunks.dtype), coarse.logits)
        for logits in (coarse.logits, whole):
            yield (resize_soft(logits[:, 0].float().sigmoid(), *size)[0] > THRESHOLD).numpy()
        yield _shown(chunks.in_own_pixels(coarse, [frame]), size)


def _shown(found: ChunkMasks, size: tuple[int, int]) -> Mask:
    soft = resize_soft(found.logits[:, 0].float().sigmoid(), *size)[0]
    for part in found.parts[0]:
        if part is not None:
            part.onto(soft)
    mask: Mask = (soft > THRESHOLD).numpy()
    return mask


if __name__ == "__main__":
    main()
