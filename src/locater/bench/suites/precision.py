"""What a lower precision does to a checkpoint's masks: their IoU with the masks of float32."""

from collections.abc import Sequence

import numpy as np

from locater.bench.harness.chart import Bars
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.compute.precision import PRECISIONS, Precision
from locater.inference.segmenter import Segmenter
from locater.model.checkpoint import from_pretrained
from locater.records import Mask, Sample
from locater.video.overlap import mask_iou
from locater.worlds.shapes import KINDS, ShapesWorld

AIM = 0.995
SIDE = 320  # pixels of a rendered video


def run(request: BenchRequest) -> Report:
    """IoU of every lower precision's masks with float32's, on rendered videos with a sentence of each kind."""
    frames, videos = (12, 1) if request.is_quick else (32, len(KINDS))
    world = ShapesWorld("test", count=videos, size=SIDE, frame_count=frames, device=request.device)
    samples = [world.load(info) for info in world.samples()]
    references = _masks(request, "float32", samples)
    rows: list[Row] = []
    for precision in PRECISIONS:
        if precision == "float16" and not request.is_cuda:
            rows.append({"precision": precision, "aim": "needs a GPU"})
            continue
        # float32 twice: a difference here would be chance, not precision.
        rows.append({"precision": precision, **overlap(references, _masks(request, precision, samples))})
    return Report(
        name="precision",
        title=f"checkpoint {request.trained}, {videos} videos of the shapes world, {frames} frames of {SIDE} pixels",
        timed="nothing: IoU of masks with those of float32 on the same device, at the video's own size. `mean` is over "
        "frames, two empty masks agreeing; `pooled` is all common pixels over all pixels of either.",
        columns=("precision", "mean", "pooled", "lowest", "empty frames", "aim"),
        chart=Bars(
            "IoU with the masks of float32", "mean IoU", {r["precision"]: r["mean"] for r in rows if "mean" in r}
        ),
        rows=rows,
        notes=[f"Aim: a mean IoU of at least {AIM}."],
    )


def overlap(references: Sequence[Mask], candidates: Sequence[Mask]) -> dict[str, float | int | str]:
    """How far two lists of masks agree, and whether that is enough."""
    common = [int((one & other).sum()) for one, other in zip(references, candidates, strict=True)]
    either = [int((one | other).sum()) for one, other in zip(references, candidates, strict=True)]
    ratios = [mask_iou(one, other) for one, other in zip(references, candidates, strict=True)]
    mean = float(np.mean(ratios))
    return {
        "mean": mean,
        "pooled": sum(common) / sum(either) if sum(either) else 1.0,
        "lowest": min(ratios),
        "empty frames": sum(union == 0 for union in either),
        "aim": "reached" if mean >= AIM else f"missed by {AIM - mean:.4f}",
    }


def _masks(request: BenchRequest, precision: Precision, samples: Sequence[Sample]) -> list[Mask]:
    segmenter = Segmenter(from_pretrained(request.trained), request.device, precision)
    return [
        result.masks[0]
        for sample in samples
        for result in segmenter.segment(sample.frames, sample.info.expression, anyway=True)
    ]
