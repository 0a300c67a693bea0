"""Are locater-lite's masks those of `locater segment`, and how long does each take?

    python -m experiments.lite_agreement exported src/locater/clips/cafe.mp4 "the cat on the left"

Both qualities, float32, the video's first frames; `exported` comes from `locater export default`.
"""

import argparse
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from locater.inference.effort import Quality
from locater.inference.segmenter import Segmenter
from locater_lite import Lite, VideoFile

QUALITIES: tuple[Quality, ...] = ("best", "default")


def main() -> None:
    """Print the agreement and both speeds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("exported", type=Path)
    parser.add_argument("video", type=Path)
    parser.add_argument("sentence")
    parser.add_argument("--checkpoint", default="default")
    parser.add_argument("--frames", type=int, help="How many frames; all without it.")
    asked = parser.parse_args()
    for quality in QUALITIES:
        segmenter = Segmenter.from_pretrained(asked.checkpoint, "cpu", "float32", quality)
        ours, our_seconds = timed(
            islice((each.masks[0] for each in segmenter.segment(asked.video, asked.sentence)), asked.frames)
        )
        lite = Lite(asked.exported, best=quality == "best")
        found = lite.segment(VideoFile(asked.video), 24, asked.sentence)
        theirs, their_seconds = timed(islice((each.masks[0] for each in found), asked.frames))
        scores = [iou(one, other) for one, other in zip(ours, theirs, strict=True)]
        print(
            f"{quality}: IoU {np.mean(scores):.4f}, lowest {min(scores):.4f}; "
            f"CPU seconds for {len(ours)} frames: locater {our_seconds:.1f}, locater-lite {their_seconds:.1f}",
            flush=True,
        )


def timed(masks: Iterable[npt.NDArray[Any]]) -> tuple[list[npt.NDArray[Any]], float]:
    """All masks, and the CPU's seconds, which other programs on the machine hardly change."""
    started = time.process_time()
    return list(masks), time.process_time() - started


def iou(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """1 where both are empty."""
    either = np.count_nonzero(one | other)
    return np.count_nonzero(one & other) / either if either else 1.0


if __name__ == "__main__":
    main()
