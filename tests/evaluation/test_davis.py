"""Several objects per video: matching with fixed and free identities, the four annotations, and DAVIS folders."""

from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from locater.errors import LocaterError
from locater.evaluation.external.score import score
from locater.evaluation.external.submission import palette_png
from locater.evaluation.run.answering import compete
from tests.support.datasets.making_datasets import real_data

Numbers = npt.NDArray[np.uint8]


def write(folder: Path, video: str, frames: list[Numbers]) -> None:
    (folder / video).mkdir(parents=True)
    for index, numbers in enumerate(frames):
        (folder / video / f"{index:05d}.png").write_bytes(palette_png(numbers))


def objects(shift: int = 0, swap: bool = False, count: int = 2) -> list[Numbers]:
    """Five frames of objects that walk to the right."""
    found = []
    for index in range(5):
        numbers = np.zeros((60, 90), np.uint8)
        for number in range(1, count + 1):
            left = 5 + 4 * index + shift
            numbers[8 + 16 * (number - 1) : 18 + 16 * (number - 1), left : left + 14 + number] = number
        if swap:
            numbers = np.where(numbers == 1, 2, np.where(numbers == 2, 1, numbers)).astype(np.uint8)
        found.append(numbers)
    return found


def modes(tmp_path: Path, predicted: list[Numbers], truth: list[Numbers]) -> dict[str, dict[str, float | None]]:
    write(tmp_path / "found", "walk", predicted)
    write(tmp_path / "truth", "walk", truth)
    result: dict[str, dict[str, float | None]] = score(tmp_path / "found", tmp_path / "truth", "davis").results["modes"]
    return result


def plain_j(one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]) -> float:
    union = (one | other).sum()
    return float((one & other).sum() / union) if union else 1.0


def test_swapped_objects_are_forgiven_with_free_identities_only(tmp_path: Path) -> None:
    found = modes(tmp_path, objects(swap=True), objects())
    assert found["unsupervised"]["j&f"] == 1 and found["unsupervised"]["objects"] == 2
    assert found["fixed"]["j"] == found["semi_supervised"]["j"] == 0


def test_free_identities_take_the_best_of_all_assignments(tmp_path: Path) -> None:
    from tests.evaluation.test_boundary import array_boundary, slow_f

    generator = np.random.default_rng(3)
    truth, predicted = objects(count=3), []
    for numbers in objects(shift=3, count=3):
        noisy = np.where(generator.random(numbers.shape) < 0.3, generator.integers(0, 5, numbers.shape), numbers)
        predicted.append(np.roll(noisy, 5, axis=0).astype(np.uint8))  # four numbers, one more than there are objects
    found = modes(tmp_path, predicted, truth)

    def means(p: int, t: int) -> tuple[float, float]:
        pairs = [(one == p, other == t) for one, other in zip(predicted, truth, strict=True)]
        j = np.mean([plain_j(*pair) for pair in pairs])
        f = np.mean([slow_f(array_boundary(one), array_boundary(other), one.shape) for one, other in pairs])
        return float(j), float(f)

    table = {(p, t): means(p, t) for p in range(1, 5) for t in range(1, 4)}
    best = max(permutations(range(1, 5), 3), key=lambda order: sum(sum(table[p, t + 1]) for t, p in enumerate(order)))
    assert found["unsupervised"]["j"] == pytest.approx(
        np.mean([table[p, t + 1][0] for t, p in enumerate(best)]), abs=1e-9
    )
    assert found["unsupervised"]["f"] == pytest.approx(
        np.mean([table[p, t + 1][1] for t, p in enumerate(best)]), abs=1e-9
    )
    assert found["fixed"]["j"] is None  # a number that the truth does not have: the toolkit stops there


def test_semi_supervised_leaves_out_the_first_and_the_last_frame(tmp_path: Path) -> None:
    predicted = objects()
    predicted[0] = np.zeros_like(predicted[0])
    found = modes(tmp_path, predicted, objects())
    assert found["semi_supervised"]["j&f"] == 1
    assert found["fixed"]["j"] == pytest.approx(0.8) == found["unsupervised"]["j"]


def test_every_object_of_all_videos_weighs_the_same(tmp_path: Path) -> None:
    """The mean is over frames, then over objects; a video of three objects has three times the weight of one."""
    for name, count, missing in (("many", 3, 0), ("one", 1, 4)):
        found = objects(count=count)
        for numbers in found[:missing]:
            numbers[:] = 0
        write(tmp_path / "found", name, found)
        write(tmp_path / "truth", name, objects(count=count))
    modes = score(tmp_path / "found", tmp_path / "truth", "davis").results["modes"]
    for mode in ("unsupervised", "fixed"):
        assert modes[mode]["objects"] == 4 and modes[mode]["j"] == pytest.approx((3 * 1 + 1 / 5) / 4)


def test_void_pixels_are_left_out_with_free_identities_as_in_the_toolkit(tmp_path: Path) -> None:
    truth, predicted = objects(), objects()
    for one, other in zip(predicted, truth, strict=True):
        one[50:58, 70:80] = 1
        other[48:60, 68:82] = 255
    found = modes(tmp_path, predicted, truth)
    assert found["unsupervised"]["j&f"] == 1
    j = found["fixed"]["j"]
    assert j is not None and j < 1


def test_four_annotations_are_scored_alone_and_averaged(tmp_path: Path) -> None:
    write(tmp_path / "truth", "walk", objects())
    for number in range(4):
        write(tmp_path / "found" / f"anno_{number}", "walk", objects(swap=number == 3))
    found = score(tmp_path / "found", tmp_path / "truth", "ref_davis17").results["annotators"]
    assert found["mean"]["unsupervised"]["j&f"] == 1
    assert found["anno_0"]["fixed"]["j&f"] == 1 and found["anno_3"]["fixed"]["j"] == 0
    assert found["mean"]["fixed"]["j"] == 0.75


def test_soft_masks_compete_as_ref_davis17_has_it() -> None:
    soft = np.array([[[0.49, 0.6, 0.7, 0.5]], [[0.3, 0.7, 0.7, 0.2]]], dtype=np.float32)
    assert compete(soft).astype(int).tolist() == [[[0, 0, 1, 1]], [[0, 1, 0, 0]]]


def test_a_video_without_masks_is_named(tmp_path: Path) -> None:
    write(tmp_path / "truth", "walk", objects())
    write(tmp_path / "truth", "run", objects())
    write(tmp_path / "found", "walk", objects())
    with pytest.raises(LocaterError, match=r"no predicted masks of run; name the videos"):
        score(tmp_path / "found", tmp_path / "truth", "davis")
    (tmp_path / "videos.txt").write_text("walk\n")
    assert score(tmp_path / "found", tmp_path / "truth", "davis", videos=tmp_path / "videos.txt").results["modes"]


def test_real_davis_2016_masks(tmp_path: Path) -> None:
    root = real_data("davis2016_train_240p") / "Annotations"
    if not root.is_dir():
        pytest.skip(f"{root} is absent")
    videos = sorted(path.name for path in root.iterdir())[:3]
    (tmp_path / "videos.txt").write_text("\n".join(videos))
    for video in videos:
        (tmp_path / "found" / video).mkdir(parents=True)
        for path in sorted((root / video).glob("*.png")):
            mask = np.asarray(Image.open(path)).astype(bool)
            moved = np.roll(mask, 3, axis=1)
            Image.fromarray(np.where(moved, 255, 0).astype(np.uint8)).save(tmp_path / "found" / video / path.name)
    perfect = score(root, root, "davis", videos=tmp_path / "videos.txt").results["modes"]
    assert all(perfect[mode]["j&f"] == 1 and perfect[mode]["objects"] == 3 for mode in perfect)
    moved_scores = score(tmp_path / "found", root, "davis", videos=tmp_path / "videos.txt").results["modes"]
    assert 0.3 < moved_scores["fixed"]["j"] < 1
