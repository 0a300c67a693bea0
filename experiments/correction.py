"""What clicks are worth: the right sentences that go wrong, corrected as a person would, and the whole video's J.

    python -m experiments.correction CHECKPOINT davis:ROOT [--every 2] [--videos bmx-bumps,flamingo] [--clicks 3]

Those sentences of the development videos count whose J is below `--below`. Clicks are made one after the other, each
after looking at what the ones before have led to. The frame: of those in which the object is at least half as large as
its median, the one with the lowest J. The place: the middle (farthest from its edge) of the largest region that is
missed, where more than half of the object is missed or that region is the largest error; else "not this" in the middle
of the largest region that is wrongly marked. Printed for each sentence: J before, and after each click.
"""

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import ndimage

import locater
from experiments.machine import machine
from locater.datasets.catalog import open_dataset
from locater.inference.segmenter import Segmenter
from locater.records import Click, Correction, Mask, Pixels, SampleInfo
from locater.video.overlap import mask_iou
from locater.video.track import MaskTrack

Truth = npt.NDArray[np.bool_]  # (T, H, W)


def video_j(track: MaskTrack, row: int, truth: Truth) -> float:
    """The mean IoU of all frames."""
    return float(np.mean([mask_iou(track.mask(t, row), mask) for t, mask in enumerate(truth)]))


def next_click(masks: Truth, truth: Truth, row: int) -> Correction:
    """What somebody who knows the truth clicks next."""
    areas = truth.sum((1, 2))
    clear = [t for t in range(len(truth)) if areas[t] > 0 and 2 * areas[t] >= np.median(areas)]
    t = min(clear, key=lambda t: mask_iou(masks[t], truth[t]))
    missed, wrong = truth[t] & ~masks[t], masks[t] & ~truth[t]
    (missed_size, missed_middle), (wrong_size, wrong_middle) = _largest(missed), _largest(wrong)
    is_inside = 2 * missed.sum() > areas[t] or missed_size >= wrong_size
    y, x = missed_middle if is_inside else wrong_middle
    return Correction(t, row, clicks=(Click(x + 0.5, y + 0.5, bool(is_inside)),))


def _largest(error: Mask) -> tuple[int, tuple[int, int]]:
    """The size of the largest connected region, and its middle."""
    labels, count = ndimage.label(error)
    if not count:
        return 0, (0, 0)
    sizes = ndimage.sum_labels(error, labels, range(1, count + 1))
    inside = np.pad(labels == 1 + int(np.argmax(sizes)), 1)
    y, x = np.unravel_index(ndimage.distance_transform_edt(inside)[1:-1, 1:-1].argmax(), error.shape)
    return int(sizes.max()), (int(y), int(x))


def on_video(
    segmenter: Segmenter, pixels: Sequence[Pixels], truth: Truth, infos: Sequence[SampleInfo], rate: float, clicks: int
) -> dict[str, list[float]]:
    """J before and after each click, by sentence; all sentences of a video are segmented together."""
    sentences = [info.expression for info in infos]
    told: list[Correction] = []
    scores: dict[str, list[float]] = {info.key: [] for info in infos}
    for click in range(clicks + 1):
        track = segmenter.track(pixels, sentences, frames_per_second=rate, anyway=True, corrections=told)
        for row, info in enumerate(infos):
            scores[info.key].append(video_j(track, row, truth))
            if click < clicks:
                told.append(next_click(track.masks(row), truth, row))
    return scores


def main(given: argparse.Namespace) -> None:
    """Print a line per sentence and the means."""
    print(machine())
    segmenter = locater.load(given.checkpoint, precision=given.precision)
    name, _, root = given.data.partition(":")
    dataset = open_dataset(name, Path(root), None)
    by_video: dict[str, list[SampleInfo]] = defaultdict(list)
    for info in dataset.samples():
        if not given.videos or info.video in given.videos.split(","):
            by_video[info.video].append(info)
    before: list[float] = []
    scores: dict[str, list[float]] = {}
    for infos in by_video.values():
        sample = dataset.load(infos[0])
        pixels = [frame.pixels for frame in sample.frames.frames(every=given.every)]
        truth = np.stack([sample.masks[index] for index in sorted(sample.masks)[:: given.every]])
        rate = (sample.frames.info.frames_per_second or 24.0) / given.every
        track = segmenter.track(pixels, [info.expression for info in infos], frames_per_second=rate, anyway=True)
        own = [video_j(track, row, truth) for row in range(len(infos))]
        before += own
        wrong = [info for info, j in zip(infos, own, strict=True) if j < given.below]
        if wrong:
            scores |= on_video(segmenter, pixels, truth, wrong, rate, given.clicks)
        for info in wrong:
            print(f"{info.key:<26}" + "".join(f"{j:7.3f}" for j in scores[info.key]), flush=True)
    print(f"{len(before)} sentences, mean J {np.mean(before):.3f}; {len(scores)} below {given.below}:")
    print(f"{'mean J, 0, 1, ... clicks':<26}" + "".join(f"{j:7.3f}" for j in np.mean(list(scores.values()), axis=0)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("data")
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--videos", default="")
    parser.add_argument("--clicks", type=int, default=3)
    parser.add_argument("--below", type=float, default=0.5)
    parser.add_argument("--precision", default="bfloat16")
    main(parser.parse_args())
