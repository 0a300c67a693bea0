"""What the memory does on real clips: the same networks with their memories written, and not.

    python -m experiments.memory_on_clips DAVIS CHECKPOINT [CHECKPOINT ...] [--frames 24] [--written both none]

The first frames of each sequence of the development benchmark, three sentences each, in bfloat16. Printed: J and
flicker for each checkpoint, and their mean and deviation. A memory that is not written keeps its learned first cells.
This is no ablation: the networks were trained with both.
"""

import argparse
import statistics
import sys
from itertools import groupby, islice
from pathlib import Path

from experiments.machine import machine
from experiments.memory_ablation import ABLATIONS, written
from locater.datasets.davis import DavisSentences
from locater.evaluation.metrics.counts import FrameCounts
from locater.evaluation.metrics.flicker import flicker
from locater.evaluation.metrics.sample_score import FrameScore
from locater.inference.segmenter import load
from locater.records import Mask


def compared(index: int, mask: Mask, truth: Mask) -> FrameScore:
    """What J and flicker need of a frame; boundaries are not looked at."""
    areas = (int(mask.sum()), int(truth.sum()), int((mask & truth).sum()))
    return FrameScore(index, FrameCounts(*areas, 0, 0, 0, 0), 0.0)


def scores(checkpoint: str, davis: Path, ablation: str, frames: int) -> tuple[float, float]:
    """Mean J and mean flicker of one checkpoint with one ablation."""
    dataset = DavisSentences(davis, "train")
    overlaps, flickers = [], []
    with written(ablation):
        segmenter = load(checkpoint, "cpu", precision="bfloat16")
        for _, group in groupby(dataset.samples(), key=lambda info: info.video):
            infos = list(group)
            sample = dataset.load(infos[0])
            pictures = [frame.pixels for frame in islice(sample.frames.frames(), frames)]
            rate = sample.frames.info.frames_per_second
            results = segmenter.segment(
                pictures, [info.expression for info in infos], frames_per_second=rate, anyway=True
            )
            told = [
                [compared(place, mask, sample.masks[place]) for mask in result.masks]
                for place, result in enumerate(results)
            ]
            for answers in zip(*told, strict=True):
                overlaps.append(statistics.mean(each.counts.iou for each in answers))
                found = flicker(answers)
                flickers += [] if found is None else [found.value]
    return statistics.mean(overlaps), statistics.mean(flickers)


def main() -> int:
    """0, always: the numbers are the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("davis", type=Path)
    parser.add_argument("checkpoints", nargs="+")
    parser.add_argument("--frames", type=int, default=24)
    parser.add_argument("--written", nargs="+", choices=ABLATIONS, default=list(ABLATIONS))
    arguments = parser.parse_args()
    print(machine())
    print(f"{'written':<10}{'J':>18}{'flicker':>18}")
    for ablation in arguments.written:
        rows = []
        for checkpoint in arguments.checkpoints:
            rows.append(scores(checkpoint, arguments.davis, ablation, arguments.frames))
            print(f"  {ablation:<8}" + "".join(f"{value:>18.3f}" for value in rows[-1]), checkpoint, flush=True)
        if len(rows) > 1:
            columns = list(zip(*rows, strict=True))
            told = [f"{statistics.mean(column):.3f} +- {statistics.stdev(column):.3f}" for column in columns]
            print(f"{ablation:<10}" + "".join(f"{each:>18}" for each in told), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
