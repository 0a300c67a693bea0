"""The 3,800 real test masks of A2D-Sentences, and six ways to answer them."""

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pycocotools import mask as coco_mask

from tests.support.datasets.making_datasets import real_data

Mask = npt.NDArray[np.bool_]

KINDS = ("perfect", "empty", "full", "shifted", "dilated", "random")
_FILE = "a2d_sentences_test_annotations_in_coco_format.json"


def truth_path() -> Path:
    """The ground truth in COCO's format."""
    path = real_data("annotations") / _FILE
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


@lru_cache(maxsize=1)
def truth_json(path: Path) -> dict[str, Any]:
    """What the file holds."""
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def true_mask(entry: dict[str, Any]) -> Mask:
    """One annotation's mask, decoded by pycocotools."""
    mask: Mask = np.ascontiguousarray(coco_mask.decode(entry["segmentation"])).view(np.bool_)
    return mask


def predicted(kind: str, mask: Mask, number: int) -> Mask:
    """One of six answers; the same for the same number."""
    if kind == "perfect":
        return mask.copy()
    if kind == "empty":
        return np.zeros_like(mask)
    if kind == "full":
        return np.ones_like(mask)
    if kind == "shifted":
        moved = np.zeros_like(mask)
        moved[7:, 11:] = mask[:-7, :-11]
        return moved
    if kind == "dilated":
        wide = mask.copy()
        for step in range(1, 4):
            wide[:, step:] |= mask[:, :-step]
            wide[step:] |= mask[:-step]
        return wide
    generator = np.random.default_rng(number)
    coarse = generator.random((mask.shape[0] // 16 + 1, mask.shape[1] // 16 + 1)) < generator.random()
    return np.repeat(np.repeat(coarse, 16, axis=0), 16, axis=1)[: mask.shape[0], : mask.shape[1]]


def answers(kind: str, path: Path) -> Iterator[tuple[dict[str, Any], Mask, Mask]]:
    """Every annotation with its mask and the answer to it; one at a time, as all together are 1.4 GB."""
    for number, entry in enumerate(truth_json(path)["annotations"]):
        truth = true_mask(entry)
        yield entry, truth, predicted(kind, truth, number)


def coco_runs(mask: Mask) -> dict[str, Any]:
    """The run lengths as pycocotools writes them."""
    runs = coco_mask.encode(np.asfortranarray(mask.view(np.uint8)))
    return {"size": runs["size"], "counts": runs["counts"].decode("ascii")}
