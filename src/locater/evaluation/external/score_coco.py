"""Scored masks in COCO's result format against COCO ground truth: how the peers score A2D- and J-HMDB-Sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from locater.errors import LocaterError
from locater.evaluation.external.mask_files import open_mask_files
from locater.evaluation.metrics.average_precision import AveragePrecision, ScoredImage
from locater.evaluation.metrics.packed_masks import PackedMask, compare
from locater.evaluation.metrics.sample_score import FrameScore, SampleScore
from locater.evaluation.metrics.summary import Scores, summarise
from locater.io.coco_masks import decode_segmentation
from locater.io.text_files import as_published, read_json
from locater.records import SampleInfo


@dataclass(frozen=True)
class TrueMask:
    """An image's one object."""

    height: int
    width: int
    mask: PackedMask
    area: float
    is_crowd: bool


@dataclass(frozen=True)
class ScoredMask:
    """One answer to an image, and how sure its system is of it."""

    score: float
    mask: PackedMask


def score_coco(predictions: Path, truth: Path) -> Scores:
    """Every score of a file of masks, or of a folder or zip of `<image id>.png`, each mask with the same confidence."""
    truths = _read_truth(truth)
    is_json = predictions.suffix == ".json"
    return score_images(_read_results(predictions, truths) if is_json else _read_pictures(predictions, truths), truths)


def score_images(found: Mapping[str | int, Sequence[ScoredMask]], truths: Mapping[str | int, TrueMask]) -> Scores:
    """The overlaps of each image's best-scored mask, and COCO's average precision of all masks.

    Of several best-scored masks the last counts: the peers' `calculate_precision_at_k_and_iou_metrics` (MTTR's
    metrics.py, which ReferFormer copies) sorts by score, stably, and takes the last one. An image without a mask counts
    as one with an empty mask.
    """
    precision = AveragePrecision()
    samples = []
    for image, true in truths.items():
        masks = found.get(image, [])
        precision.add(image, _scored_image(masks, true))
        nothing = ScoredMask(0.0, PackedMask(0, true.mask.layout))
        best = max(reversed(masks), key=lambda each: each.score, default=nothing)  # `max` keeps the first it meets
        score = FrameScore(0, compare(best.mask, true.mask), best.score)
        samples.append(SampleScore(SampleInfo(str(image), _video_of(str(image)), ""), (score,), 1))
    return summarise(samples) | {f"coco_{name}": value for name, value in precision.result().items()}


def _scored_image(detections: Sequence[ScoredMask], true: TrueMask) -> ScoredImage:
    overlaps = np.zeros((len(detections), 1))
    for row, each in enumerate(detections):
        shared = (each.mask.bits & true.mask.bits).bit_count()
        # COCO's own: two empty masks do not overlap; with a crowd, the part of the detection inside it counts.
        union = each.mask.area if true.is_crowd else each.mask.area + true.mask.area - shared
        overlaps[row] = shared / union if shared else 0.0
    return ScoredImage(
        scores=np.array([each.score for each in detections], dtype=np.float64),
        overlaps=overlaps,
        areas=np.array([each.mask.area for each in detections], dtype=np.float64),
        truth_areas=np.array([true.area]),
        is_crowd=np.array([true.is_crowd]),
    )


def _read_truth(path: Path) -> dict[str | int, TrueMask]:
    content = read_json(path)
    truths: dict[str | int, TrueMask] = {}
    with as_published(path):
        sizes = {image["id"]: (int(image["height"]), int(image["width"])) for image in content["images"]}
        for annotation in content["annotations"]:
            image = annotation["image_id"]
            if image in truths:
                raise ValueError(f"the image {image} has two masks, one a sentence was expected")
            mask = PackedMask.of(decode_segmentation(annotation["segmentation"], *sizes[image], f"{path} ({image})"))
            area = float(annotation.get("area", mask.area))
            truths[image] = TrueMask(*sizes[image], mask, area, bool(annotation.get("iscrowd", 0)))
        bare = sizes.keys() - truths.keys()
        if bare:
            raise ValueError(f"the image {min(map(str, bare))} has no mask")
    if not truths:
        raise LocaterError(f"{path} holds no masks; give the ground truth in COCO's format.")
    return truths


def _read_results(path: Path, truths: Mapping[str | int, TrueMask]) -> dict[str | int, list[ScoredMask]]:
    content = read_json(path)
    if not isinstance(content, list):
        raise LocaterError(f"{path} is no list of masks; expected is COCO's result format.")
    found: dict[str | int, list[ScoredMask]] = {}
    for entry in content:
        with as_published(path):
            image, segmentation, score = entry["image_id"], entry["segmentation"], float(entry["score"])
            if not isinstance(segmentation, Mapping):
                raise ValueError(f"the mask of {image} is no run lengths")
        if image not in truths:
            raise LocaterError(f"{path} holds a mask of {image}, which the ground truth does not have.")
        found.setdefault(image, []).append(ScoredMask(score, _fitting(segmentation, image, truths[image], path)))
    return found


def _fitting(segmentation: Any, image: str | int, true: TrueMask, path: Path) -> PackedMask:
    mask = decode_segmentation(segmentation, true.height, true.width, f"{path} ({image})")
    if mask.shape != (true.height, true.width):
        raise LocaterError(
            f"{path}: the mask of {image} is {mask.shape[1]} x {mask.shape[0]}, its ground truth {true.width} x "
            f"{true.height}; masks are scored at the ground truth's own size."
        )
    return PackedMask.of(mask)


def _read_pictures(path: Path, truths: Mapping[str | int, TrueMask]) -> dict[str | int, list[ScoredMask]]:
    files = open_mask_files(path)
    names = {str(image): image for image in truths}
    found: dict[str | int, list[ScoredMask]] = {}
    for name in files.names():
        if name not in names:
            raise LocaterError(f"{path} holds {name}.png, but the ground truth has no image of that name.")
        image, mask = names[name], files.read(name) != 0
        true = truths[image]
        if mask.shape != (true.height, true.width):
            raise LocaterError(
                f"{path}: {name}.png is {mask.shape[1]} x {mask.shape[0]}, its ground truth {true.width} x "
                f"{true.height}; masks are scored at the ground truth's own size."
            )
        found[image] = [ScoredMask(1.0, PackedMask.of(mask))]
    return found


def _video_of(image: str) -> str:
    """The video in MTTR's image ids, `v_<video>_f_<frame>_i_<instance>`; else the id itself."""
    head, found, _ = image.rpartition("_f_")
    return head.removeprefix("v_") if found else image
