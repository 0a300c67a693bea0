"""The shipped network on real pictures: how often an animal is found, and another's noun is left alone.

It was trained on these photographs among others, its second look without giraffes and zebras, so the figure says what
it has learnt of them, not how it generalises.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO

from locater.datasets.coco_val import FAMILIES
from locater.datasets.reading.picture_sequence import PictureSequence
from locater.inference.segmenter import Segmenter
from locater.records import Mask
from locater.video.overlap import mask_iou
from tests.support.datasets.making_datasets import real_data

PHOTOGRAPHS = 32
OTHERS = 3  # nouns asked beside its own, of each
RIGHT = 0.5  # IoU
ANIMALS = FAMILIES["animals"]


def drawn(name: str) -> str:
    """Orders by lot, the same for everybody."""
    return hashlib.sha256(name.encode()).hexdigest()


def photographs() -> list[tuple[Path, str, list[Mask]]]:
    """Some in which one animal's class is seen, whatever else is; its name, and the mask of each of its kind."""
    root = real_data("coco_subset")
    index = COCO(str(root / "instances.json"))
    animals = {each["id"]: str(each["name"]) for each in index.dataset["categories"] if each["name"] in ANIMALS}
    single = []
    for image in sorted(index.dataset["images"], key=lambda each: drawn(str(each["file_name"]))):
        seen = [each for each in index.imgToAnns[image["id"]] if each["category_id"] in animals]
        if len({each["category_id"] for each in seen}) == 1:
            masks = [index.annToMask(each).astype(bool) for each in seen]
            single.append((root / "images" / image["file_name"], animals[seen[0]["category_id"]], masks))
    return single[:PHOTOGRAPHS]


def is_right(mask: Mask, animals: list[Mask]) -> bool:
    """Whether one of them, or all together, is marked."""
    whole = np.array(Image.fromarray(mask).resize(animals[0].shape[::-1]))
    return max(mask_iou(whole, each) for each in (*animals, np.logical_or.reduce(animals))) > RIGHT


@pytest.mark.slow
def test_near_kin_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    segmenter = Segmenter.from_pretrained("default", "cpu")
    found: list[bool] = []
    left_alone: list[bool] = []
    for path, name, animals in photographs():
        others = sorted(set(ANIMALS) - {name}, key=lambda other: drawn(f"{path.name} {other}"))[:OTHERS]
        sentences = [f"the {noun}" for noun in (name, *others)]
        (result,) = segmenter.segment(PictureSequence(path.name, [path], 1.0), sentences)
        found.append(is_right(result.masks[0], animals))
        left_alone += [not mask.any() for mask in result.masks[1:]]
    own, kin = sum(found) / len(found), sum(left_alone) / len(left_alone)
    with capsys.disabled():
        print(f"\n{PHOTOGRAPHS} photographs: own animal found in {own:.1%}, another animal's left alone in {kin:.1%}")
    assert len(left_alone) == PHOTOGRAPHS * OTHERS
    assert own >= 0.78 and kin >= 0.88  # 81.2 % and 90.6 %; without its second look 87.5 % and 66.7 %


@pytest.mark.slow
def test_a_bus_that_comes_after_a_car_is_found() -> None:
    root = real_data("davis2016_train_240p")
    halves = [sorted((root / "JPEGImages" / name).glob("*.jpg"))[::4] for name in ("car-turn", "bus")]
    joined = PictureSequence("joined", [*halves[0], *halves[1]], 6.0)
    masks = [result.masks[0] for result in Segmenter.from_pretrained("default", "cpu").segment(joined, "the bus")]
    assert not any(mask.any() for mask in masks[: len(halves[0])])  # the car is refused
    truth = [np.asarray(Image.open(root / "Annotations" / "bus" / f"{path.stem}.png")) > 0 for path in halves[1]]
    found = [mask_iou(mask, own) for mask, own in zip(masks[len(halves[0]) :], truth, strict=True)]
    assert np.mean(found) > 0.4  # .70; 0 where the verdict on the car went on
