"""`locater score`: run lengths and pictures alike, and one sentence for what cannot be scored."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from locater.errors import LocaterError
from locater.evaluation.external.score import score
from locater.evaluation.external.submission import binary_png
from locater.io import rle
from tests.support import made_benchmarks
from tests.support.evaluating.command import run

Mask = npt.NDArray[np.bool_]


def box(left: int, width: int = 10) -> Mask:
    mask = np.zeros((30, 40), np.bool_)
    mask[5:15, left : left + width] = True
    return mask


def runs(mask: Mask) -> dict[str, Any]:
    return {"size": list(mask.shape), "counts": rle.encode(mask).decode("ascii")}


def coco_truth(path: Path) -> Path:
    names = [f"v_clip_f_{frame}_i_0" for frame in (1, 2, 3)]
    images = [{"id": name, "height": 30, "width": 40} for name in names]
    annotations = [
        {"id": number, "image_id": name, "category_id": 1, "segmentation": runs(box(5)), "area": 100, "iscrowd": 0}
        for number, name in enumerate(names, start=1)
    ]
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": [{"id": 1}]}))
    return path


def test_the_best_scored_mask_of_an_image_counts_and_a_missing_one_is_empty(tmp_path: Path) -> None:
    truth = coco_truth(tmp_path / "truth.json")
    found = [
        {"image_id": "v_clip_f_1_i_0", "segmentation": runs(box(25)), "score": 0.2},
        {"image_id": "v_clip_f_1_i_0", "segmentation": runs(box(5)), "score": 0.9},
        {"image_id": "v_clip_f_2_i_0", "segmentation": runs(box(10)), "score": 0.8},
    ]
    (tmp_path / "found.json").write_text(json.dumps(found))
    judged = score(tmp_path / "found.json", truth, "a2d")
    scores = judged.results["scores"]
    assert scores["miou"] == pytest.approx((1 + 1 / 3 + 0) / 3) and scores["oiou"] == pytest.approx(150 / 350)
    assert scores["samples"] == 3 and scores["videos"] == 1
    assert "MTTR" in judged.text and "printed as mAP without saying which" in judged.text


@pytest.mark.parametrize("order", [(5, 25), (25, 5)])
def test_of_equally_scored_masks_the_last_counts_as_in_mttr(tmp_path: Path, order: tuple[int, int]) -> None:
    truth = coco_truth(tmp_path / "truth.json")
    found: list[dict[str, Any]] = [
        {"image_id": "v_clip_f_1_i_0", "segmentation": runs(box(left)), "score": 0.5} for left in order
    ]
    (tmp_path / "found.json").write_text(json.dumps(found))
    scores = score(tmp_path / "found.json", truth, "a2d").results["scores"]
    # MTTR's rule, word for word: sorted(pred_annots, key=lambda a: a['score'])[-1]
    chosen = order[found.index(sorted(found, key=lambda each: each["score"])[-1])]
    assert chosen == order[-1] and scores["miou"] == pytest.approx((chosen == 5) / 3)


def test_the_dataset_says_by_which_protocol_it_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a2d").mkdir()
    truth = coco_truth(tmp_path / "a2d" / "a2d_sentences_test_annotations_in_coco_format.json")
    found = [{"image_id": "v_clip_f_1_i_0", "segmentation": runs(box(5)), "score": 0.5}]
    (tmp_path / "found.json").write_text(json.dumps(found))
    old = run(monkeypatch, capfd, "score", tmp_path / "found.json", truth, "--protocol", "a2d")
    assert old[0] == 0 and "MTTR" in old[1]
    for place in (truth, truth.parent):  # the file itself, or the folder of the dataset
        assert run(monkeypatch, capfd, "score", tmp_path / "found.json", f"a2d-sentences:{place}") == old
    for words, expected in (
        ("shapes", "There is no protocol for shapes; masks are scored on davis, a2d-sentences, "),
        ("mevis", "mevis needs the folder of its true masks"),
        ("golf:x", "There is no dataset 'golf'"),
        (f"mevis:{tmp_path / 'absent'}", "There is no "),
        (f"a2d-sentences:{tmp_path}", "a2d_sentences_test_annotations_in_coco_format.json is missing"),
    ):
        code, out, err = run(monkeypatch, capfd, "score", tmp_path / "found.json", words)
        assert code == 2 and out == "" and err.count("\n") == 1 and expected in err, (words, err)


def test_pictures_are_scored_as_run_lengths_are(tmp_path: Path) -> None:
    truth = coco_truth(tmp_path / "truth.json")
    (tmp_path / "masks").mkdir()
    found = []
    for frame, left in ((1, 5), (2, 9), (3, 30)):
        name = f"v_clip_f_{frame}_i_0"
        found.append({"image_id": name, "segmentation": runs(box(left)), "score": 1.0})
        (tmp_path / "masks" / f"{name}.png").write_bytes(binary_png(box(left)))
    (tmp_path / "found.json").write_text(json.dumps(found))
    by_runs = score(tmp_path / "found.json", truth, "a2d").results["scores"]
    assert score(tmp_path / "masks", truth, "a2d").results["scores"] == by_runs


def test_run_lengths_of_videos_are_named_as_the_pictures_are(tmp_path: Path) -> None:
    made_benchmarks.mevis(tmp_path / "root")
    found = []
    for video in made_benchmarks.VIDEOS:
        for index, frame in enumerate(made_benchmarks.frame_names()):
            numbers = made_benchmarks.numbers(video, index)
            first = (numbers == 1) & (index != 2)
            for number, mask in enumerate((first, first | (numbers == 2), numbers > 9)):
                found.append({"image_id": f"{video}/{number}/{frame}", "segmentation": runs(mask)})
    (tmp_path / "found.json").write_text(json.dumps(found))
    scores = score(tmp_path / "found.json", tmp_path / "root", "mevis").results["scores"]
    assert scores["j&f"] == 1 and scores["presence_accuracy"] == 1 and scores["samples"] == 6


def test_the_truth_is_never_resized(tmp_path: Path) -> None:
    made_benchmarks.refer_youtube_vos(tmp_path / "root")
    for video in made_benchmarks.VIDEOS:
        for number in "01":
            folder = tmp_path / "found" / video / number
            folder.mkdir(parents=True)
            for frame in made_benchmarks.frame_names():
                Image.new("L", (10, 10)).save(folder / f"{frame}.png")
    with pytest.raises(LocaterError, match=r"aa/0/00000.png is 10 x 10, its ground truth 72 x 48"):
        score(tmp_path / "found", tmp_path / "root", "refer_youtube_vos")


def test_what_cannot_be_scored_gives_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    truth = coco_truth(tmp_path / "truth.json")
    (tmp_path / "list.json").write_text("{}")
    (tmp_path / "cut.json").write_text('[{"image_id": "v')
    (tmp_path / "other.json").write_text(json.dumps([{"image_id": "x", "segmentation": runs(box(1)), "score": 1}]))
    small = runs(np.zeros((3, 4), np.bool_))
    (tmp_path / "small.json").write_text(
        json.dumps([{"image_id": "v_clip_f_1_i_0", "segmentation": small, "score": 1}])
    )
    lying = {"size": [30, 40], "counts": "52203"}
    (tmp_path / "lying.json").write_text(
        json.dumps([{"image_id": "v_clip_f_1_i_0", "segmentation": lying, "score": 1}])
    )
    (tmp_path / "unscored.json").write_text(json.dumps([{"image_id": "v_clip_f_1_i_0", "segmentation": small}]))
    (tmp_path / "empty").mkdir()
    (tmp_path / "colours" / "walk").mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(tmp_path / "colours" / "walk" / "00000.png")
    made_benchmarks.refer_youtube_vos(tmp_path / "refer")
    for found, against, protocol, expected in (
        ("absent", truth, "a2d", "There is no "),
        ("list.json", truth, "a2d", "is no list of masks"),
        ("cut.json", truth, "a2d", "is no JSON"),
        ("other.json", truth, "a2d", "holds a mask of x, which the ground truth does not have"),
        ("small.json", truth, "a2d", "is 4 x 3, its ground truth 40 x 30"),
        ("lying.json", truth, "a2d", "cannot be decoded"),
        ("unscored.json", truth, "a2d", "'score' is missing"),
        ("other.json", truth, "golf", "no protocol 'golf'; choose one of davis, a2d"),
        ("empty", tmp_path / "empty", "davis", "holds no PNG masks"),
        ("colours", tmp_path / "colours", "davis", "has mode RGB; masks are grey or palette PNGs"),
        ("empty", tmp_path / "colours", "ref_davis17", "not laid out as anno_"),
        ("empty", tmp_path / "refer", "refer_youtube_vos", "00000.png is missing; every annotated frame"),
        ("empty", tmp_path / "empty", "refer_youtube_vos", "meta_expressions.json is missing"),
        ("empty", tmp_path / "empty", "mevis", "meta_expressions.json is missing"),
        ("truth.json", tmp_path / "refer", "refer_youtube_vos", "is no list of masks"),
    ):
        code, out, err = run(monkeypatch, capfd, "score", tmp_path / found, against, "--protocol", protocol)
        assert code == 2 and out == "" and err.count("\n") == 1 and expected in err, (found, protocol, err)
