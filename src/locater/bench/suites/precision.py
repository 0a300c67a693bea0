"""What a lower precision does to a checkpoint's masks: their IoU with the masks of float32, on what it is for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from locater.bench.harness.chart import Bars
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.compute.precision import PRECISIONS, Precision
from locater.datasets.catalog import find_source
from locater.errors import LocaterError
from locater.evaluation.metrics.packed_masks import PackedMask
from locater.inference.demo import demo_clip
from locater.inference.segmenter import Segmenter
from locater.model.checkpoint import from_pretrained
from locater.model.locater import Locater
from locater.records import FrameSource
from locater.video.reader import open_source
from locater.worlds.shapes import KINDS, ShapesWorld

AIM = 0.995
SIDE = 320  # pixels of a rendered video
MOST = 60  # questions of data that is named


@dataclass(frozen=True)
class Asked:
    """A video, and sentences on it."""

    frames: FrameSource
    sentences: Sequence[str]


def run(request: BenchRequest) -> Report:
    """IoU of every lower precision's masks with float32's: of named data, the demo clip, or rendered videos."""
    videos, told = _videos(request, from_pretrained(request.trained))
    references = list(_masks(request, "float32", videos))
    rows: list[Row] = []
    for precision in PRECISIONS:
        if precision == "float16" and not request.is_cuda:
            rows.append({"precision": precision, "aim": "needs a GPU"})
            continue
        # float32 twice: a difference here would be chance, not precision.
        rows.append({"precision": precision, **overlap(references, _masks(request, precision, videos))})
    return Report(
        name="precision",
        title=f"checkpoint {request.trained}, {told}",
        timed="nothing: IoU of masks with those of float32 on the same device, whole frames refined, at the video's "
        "own size. `mean` is over frames and sentences, two empty masks agreeing; `pooled` is all common pixels over "
        "all pixels of either.",
        columns=("precision", "mean", "pooled", "lowest", "empty frames", "aim"),
        chart=Bars(
            "IoU with the masks of float32", "mean IoU", {r["precision"]: r["mean"] for r in rows if "mean" in r}
        ),
        rows=rows,
        notes=[f"Aim: a mean IoU of at least {AIM}."],
    )


def knows_the_demo(model: Locater) -> bool:
    """Whether the network has words for the demo clip's sentences: if not, rendered shapes are what it is for."""
    return not model.text.tokenize(demo_clip().expressions).not_understood


def _videos(request: BenchRequest, model: Locater) -> tuple[list[Asked], str]:
    """What was asked for, or what the checkpoint is for; and how it is called."""
    if request.data is not None:
        return _questions(request.data, 2 if request.is_quick else MOST)
    if knows_the_demo(model):
        clip = demo_clip()
        frames = [frame.pixels for frame in open_source(clip.path).frames()][: 8 if request.is_quick else None]
        return [Asked(open_source(frames, 12.0), clip.expressions)], f"{len(frames)} frames of the demo clip"
    count, videos = (12, 1) if request.is_quick else (32, len(KINDS))
    world = ShapesWorld("test", count=videos, size=SIDE, frame_count=count, device=request.device)
    samples = [world.load(info) for info in world.samples()]
    told = f"{videos} videos of the shapes world, {count} frames of {SIDE} pixels"
    return [Asked(sample.frames, [sample.info.expression]) for sample in samples], told


def _questions(data: str, most: int) -> tuple[list[Asked], str]:
    """The first questions of any data."""
    dataset = find_source(data).open()
    infos = dataset.samples()[:most]
    if not infos:
        raise LocaterError(f"{data} has no question; choose other data.")
    samples = [dataset.load(info) for info in infos]
    return [Asked(each.frames, [each.info.expression]) for each in samples], f"{len(infos)} questions of {data}"


def overlap(references: Iterable[PackedMask], candidates: Iterable[PackedMask]) -> dict[str, float | int | str]:
    """How far the masks of both agree, pair by pair, and whether that is enough."""
    counts = [_counts(one, other) for one, other in zip(references, candidates, strict=True)]
    common, either = (sum(each) for each in zip(*counts, strict=True))
    ratios = [both / union if union else 1.0 for both, union in counts]
    mean = float(np.mean(ratios))
    return {
        "mean": mean,
        "pooled": common / either if either else 1.0,
        "lowest": min(ratios),
        "empty frames": sum(union == 0 for _, union in counts),
        "aim": "reached" if mean >= AIM else f"missed by {AIM - mean:.4f}",
    }


def _counts(one: PackedMask, other: PackedMask) -> tuple[int, int]:
    """Pixels of both masks, and of either."""
    return (one.bits & other.bits).bit_count(), (one.bits | other.bits).bit_count()


def _masks(request: BenchRequest, precision: Precision, videos: Sequence[Asked]) -> Iterator[PackedMask]:
    """The masks of all videos one after the other, packed: sixty videos' would be gigabytes."""
    segmenter = Segmenter(from_pretrained(request.trained), request.device, precision, quality="best")
    for video in videos:
        for result in segmenter.segment(video.frames, video.sentences, anyway=True):
            yield from map(PackedMask.of, result.masks)
