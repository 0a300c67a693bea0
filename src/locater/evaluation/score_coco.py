"""Scored masks in COCO's result format against COCO ground truth: how the peers score A2D- and J-HMDB-Sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from locater.datasets.coco_masks import decode_segmentation
from locater.datasets.reading import as_published, read_json
from locater.errors import LocaterError
from locater.evaluation.average_precision import AveragePrecision, ScoredImage
from locater.evaluation.mask_files import open_mask_files
from locater.evaluation.packed import PackedMask, compare
from locater.evaluation.sample_score import FrameScore, SampleScore
from locater.evaluation.summary import Scores, summarise
from locater.records import SampleInfo


@dataclass(frozen=True)
class _Truth:
    height: int
    width: int
    mask: PackedMask
    area: float
    is_crowd: bool


@dataclass(frozen=True)
class _Detection:
    score: float
    mask: PackedMask


def score_coco(predictions: Path, truth: Path) -> Scores:
    """Every score: the overlaps of each image's best-scored mask, COCO's average precision of all masks.

    An image without a mask counts as one with an empty mask. A folder or zip of `<image id>.png` is scored alike, each
    mask with the same confidence.
    """
    truths = _read_truth(truth)
    found = _read_results(predictions, truths) if predictions.suffix == ".json" else _read_pictures(predictions, truths)
    precision = AveragePrecision()
    samples = []
    for image, true in truths.items():
        detections = found.get(image, [])
        precision.add(image, _scored_image(detections, true))
        best = max(detections, key=lambda each: each.score, default=_Detection(0.0, PackedMask(0, true.mask.layout)))
        score = FrameScore(0, compare(best.mask, true.mask), best.score)
        samples.append(SampleScore(SampleInfo(str(image), _video_of(str(image)), ""), (score,), 1))
    return summarise(samples) | {f"coco_{name}": value for name, value in precision.result().items()}


def _scored_image(detections: Sequence[_Detection], true: _Truth) -> ScoredImage:
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


def _read_truth(path: Path) -> dict[str | int, _Truth]:
    content = read_json(path)
    truths: dict[str | int, _Truth] = {}
    with as_published(path):
        sizes = {image["id"]: (int(image["height"]), int(image["width"])) for image in content["images"]}
        for annotation in content["annotations"]:
            image = annotation["image_id"]
            if image in truths:
                raise ValueError(f"the image {image} has two masks, one a sentence was expected")
            mask = PackedMask.of(decode_segmentation(annotation["segmentation"], *sizes[image], f"{path} ({image})"))
            area = float(annotation.get("area", mask.area))
            truths[image] = _Truth(*sizes[image], mask, area, bool(annotation.get("iscrowd", 0)))
        bare = sizes.keys() - truths.keys()
        if bare:
            raise ValueError(f"the image {min(map(str, bare))} has no mask")
    if not truths:
        raise LocaterError(f"{path} holds no masks; give the ground truth in COCO's format.")
    return truths


def _read_results(path: Path, truths: Mapping[str | int, _Truth]) -> dict[str | int, list[_Detection]]:
    content = read_json(path)
    if not isinstance(content, list):
        raise LocaterError(f"{path} is no list of masks; expected is COCO's result format.")
    found: dict[str | int, list[_Detection]] = {}
    for entry in content:
        with as_published(path):
            image, segmentation, score = entry["image_id"], entry["segmentation"], float(entry["score"])
            if not isinstance(segmentation, Mapping):
                raise ValueError(f"the mask of {image} is no run lengths")
        if image not in truths:
            raise LocaterError(f"{path} holds a mask of {image}, which the ground truth does not have.")
        found.setdefault(image, []).append(_Detection(score, _fitting(segmentation, image, truths[image], path)))
    return found


def _fitting(segmentation: Any, image: str | int, true: _Truth, path: Path) -> PackedMask:
    mask = decode_segmentation(segmentation, true.height, true.width, f"{path} ({image})")
    if mask.shape != (true.height, true.width):
        raise LocaterError(
            f"{path}: the mask of {image} is {mask.shape[1]} x {mask.shape[0]}, its ground truth {true.width} x "
            f"{true.height}; masks are scored at the ground truth's own size."
        )
    return PackedMask.of(mask)


def _read_pictures(path: Path, truths: Mapping[str | int, _Truth]) -> dict[str | int, list[_Detection]]:
    files = open_mask_files(path)
    names = {str(image): image for image in truths}
    found: dict[str | int, list[_Detection]] = {}
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
        found[image] = [_Detection(1.0, PackedMask.of(mask))]
    return found


def _video_of(image: str) -> str:
    """The video in MTTR's image ids, `v_<video>_f_<frame>_i_<instance>`; else the id itself."""
    head, found, _ = image.rpartition("_f_")
    return head.removeprefix("v_") if found else image
