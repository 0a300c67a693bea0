"""COCO's average precision against pycocotools, on real masks and on many made detections an image."""

import contextlib
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from locater.evaluation.external.score_coco import ScoredMask, TrueMask, score_coco, score_images
from locater.evaluation.metrics.average_precision import AveragePrecision, ScoredImage
from locater.evaluation.metrics.packed_masks import PackedMask
from tests.support.a2d_test_masks import KINDS, answers, coco_runs, truth_json, truth_path

NAMES = ("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large")


def official(truth: dict[str, Any], found: list[dict[str, Any]]) -> dict[str, float | None]:
    """What pycocotools prints; its -1 is our None."""
    with contextlib.redirect_stdout(io.StringIO()):
        api = COCO()
        api.dataset = truth
        api.createIndex()
        judge = COCOeval(api, api.loadRes(found) if found else COCO(), "segm")
        judge.params.useCats = 0
        judge.evaluate()
        judge.accumulate()
        judge.summarize()
    return {name: None if value == -1 else float(value) for name, value in zip(NAMES, judge.stats[:6], strict=True)}


def agree(ours: dict[str, float | None], theirs: dict[str, float | None]) -> bool:
    return all(
        (ours[name] is None) == (theirs[name] is None) and abs((ours[name] or 0) - (theirs[name] or 0)) < 1e-9
        for name in NAMES
    )


@dataclass
class Answered:
    """Every real mask and the answer to it: as COCO's results, packed, and counted with numpy."""

    found: list[dict[str, Any]] = field(default_factory=list)
    masks: dict[str | int, list[ScoredMask]] = field(default_factory=dict)
    truths: dict[str | int, TrueMask] = field(default_factory=dict)
    shared: list[int] = field(default_factory=list)
    union: list[int] = field(default_factory=list)


def answered(kind: str, path: Path) -> Answered:
    result = Answered()
    generator = np.random.default_rng(5)
    for entry, truth, mask in answers(kind, path):
        score = int(generator.integers(0, 50)) / 50  # with ties, as real ones have
        image = entry["image_id"]
        result.found.append({"image_id": image, "category_id": 1, "segmentation": coco_runs(mask), "score": score})
        result.masks[image] = [ScoredMask(score, PackedMask.of(mask))]
        packed = PackedMask.of(truth)
        result.truths[image] = TrueMask(truth.shape[0], truth.shape[1], packed, float(entry["area"]), False)
        result.shared.append(int(np.count_nonzero(mask & truth)))
        result.union.append(int(np.count_nonzero(mask | truth)))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_real_masks_agree_with_pycocotools_and_numpy(kind: str, tmp_path: Path) -> None:
    path = truth_path()
    given = answered(kind, path)
    scores = score_images(given.masks, given.truths)
    if kind == "shifted":  # once by way of a file, as another system's masks come: reading takes as long as scoring
        (tmp_path / "found.json").write_text(json.dumps(given.found))
        assert score_coco(tmp_path / "found.json", path) == scores
    assert scores["samples"] == scores["frames"] == 3800 and scores["videos"] == 737
    ours = {name: scores[f"coco_{name}"] for name in NAMES}
    assert agree(ours, official(truth_json(path), given.found)), ours

    shared, union = np.array(given.shared), np.array(given.union)
    iou = shared / union
    assert abs((scores["oiou"] or 0) - shared.sum() / union.sum()) < 1e-9
    assert abs((scores["miou"] or 0) - iou.mean()) < 1e-9
    for threshold in (0.5, 0.6, 0.7, 0.8, 0.9):
        assert abs((scores[f"p@{threshold}"] or 0) - (iou > threshold).mean()) < 1e-9
        assert abs((scores[f"p@{threshold}_or_equal"] or 0) - (iou >= threshold).mean()) < 1e-9
    ten = np.array([k / 20 for k in range(10, 20)])  # not arange, whose 0.6000000000000001 is above an overlap of 0.6
    assert abs((scores["map_of_precisions"] or 0) - (iou[None] > ten[:, None]).mean()) < 1e-9


def crowded_images(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Images with several objects, crowds, sizes, ties and more than a hundred detections in one."""
    generator = np.random.default_rng(seed)
    truth: dict[str, Any] = {"categories": [{"id": 1, "name": "thing"}], "images": [], "annotations": []}
    found: list[dict[str, Any]] = []

    def box(image: int) -> dict[str, Any]:
        mask = np.zeros((160, 160), np.uint8, order="F")
        size = int(generator.choice([12, 50, 110]))
        top, left = generator.integers(0, 160 - size, 2) // 8 * 8
        mask[top : top + size, left : left + size] = 1
        runs = coco_mask.encode(mask)
        segmentation = {"size": runs["size"], "counts": runs["counts"].decode()}
        return {"image_id": image, "category_id": 1, "segmentation": segmentation, "area": int(mask.sum())}

    for image in range(12):
        truth["images"].append({"id": image, "height": 160, "width": 160})
        for _ in range(int(generator.integers(0, 5))):
            crowd = int(generator.random() < 0.2)
            number = len(truth["annotations"]) + 1
            truth["annotations"].append({**box(image), "id": number, "iscrowd": crowd, "bbox": [0, 0, 1, 1]})
        for _ in range(130 if image == 3 else int(generator.integers(0, 12))):
            found.append({**box(image), "score": float(generator.integers(0, 10) / 10)})
    return truth, found


@pytest.mark.parametrize("seed", range(6))
def test_many_objects_crowds_and_ties_agree_with_pycocotools(seed: int) -> None:
    truth, found = crowded_images(seed)
    theirs = official(truth, [dict(each) for each in found])
    ours = AveragePrecision()
    images = [each["id"] for each in truth["images"]]
    for image in reversed(images):  # the order of adding must not matter
        objects = [each for each in truth["annotations"] if each["image_id"] == image]
        detections = [each for each in found if each["image_id"] == image]
        crowd = [each["iscrowd"] for each in objects]
        runs = [[each["segmentation"] for each in some] for some in (detections, objects)]
        overlaps = coco_mask.iou(*runs, crowd) if objects and detections else []
        scored = ScoredImage(
            scores=np.array([each["score"] for each in detections], dtype=np.float64),
            overlaps=np.array(overlaps, dtype=np.float64).reshape(len(detections), len(objects)),
            areas=np.array([each["area"] for each in detections], dtype=np.float64),
            truth_areas=np.array([each["area"] for each in objects], dtype=np.float64),
            is_crowd=np.array(crowd, dtype=np.bool_),
        )
        ours.add(image, scored)
    assert agree(ours.result(), theirs), (ours.result(), theirs)


def test_nothing_at_all_has_no_score() -> None:
    assert AveragePrecision().result()["ap"] is None
