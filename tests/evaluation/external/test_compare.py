"""`locater compare`, and masks of people's own folders in `locater score`."""

import csv
import json
import statistics
from pathlib import Path

import numpy as np
import pytest

from locater.evaluation.metrics.bootstrap import paired_interval
from locater.records import Mask
from tests.support.datasets.making_datasets import empty, make_folder, runs_of, write_binary, write_palette
from tests.support.evaluating.command import run

FRAMES = ("f1", "f2", "f10")


def shifted(mask: Mask, pixels: int) -> Mask:
    moved: Mask = np.roll(mask, pixels, axis=1)
    return moved


def write_system(folder: Path, truth: dict[str, dict[int, Mask]], shift: int) -> Path:
    """Every question's masks, moved to the right: folders by sentence, and palette pictures of the street."""
    for key, masks in truth.items():
        video, said = key.split("/")
        for index, mask in masks.items():
            if video == "street":
                write_palette(folder / video / f"{index:03d}.png", {2: shifted(mask, shift)})
            elif said != "absent":
                write_binary(folder / key / f"{FRAMES[index]}.png", shifted(mask, shift))
            else:
                write_binary(folder / key / f"{FRAMES[index]}.png", empty())
    return folder


@pytest.fixture
def systems(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A user's folder, masks that are right, and masks that are not quite."""
    truth = make_folder(tmp_path / "data")
    return tmp_path / "data", write_system(tmp_path / "right", truth, 0), write_system(tmp_path / "near", truth, 4)


def test_masks_of_a_folder_are_scored_by_sentence_by_object_and_by_palette_number(
    systems: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data, right, near = systems
    scores = {}
    for name, masks in (("right", right), ("near", near)):
        out = data.parent / f"{name}.json"
        code, text, error = run(monkeypatch, capfd, "score", masks, data, "--protocol", "folder", "--out", out)
        assert code == 0, error
        scores[name] = json.loads(out.read_text())
        assert run(monkeypatch, capfd, "score", masks, f"folder:{data}")[1] == text
    assert scores["right"]["scores"]["j&f"] == 1.0 and scores["right"]["scores"]["samples"] == 5
    assert 0.2 < scores["near"]["scores"]["j"] < 0.95
    assert scores["near"]["by"]["kind"]["absent"]["j"] == 1.0
    (right / "park" / "dog").rename(right / "park" / "cat")
    code, _, error = run(monkeypatch, capfd, "score", right, f"folder:{data}")
    assert code == 2 and "There are no masks of park/dog; lay them out as park/dog/f1.png" in error


def test_run_lengths_go_by_the_same_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """And a sentence without masks of its own is scored by its object's: of two sentences on a car one is written."""
    truth = make_folder(tmp_path / "data")
    names = {"park": FRAMES, "street": [str(index) for index in range(6)]}
    entries = [
        {"image_id": f"{key}/{names[key.split('/')[0]][index]}", "segmentation": runs_of(mask)}
        for key, masks in truth.items()
        for index, mask in masks.items()
        if "#" not in key
    ]
    (tmp_path / "masks.json").write_text(json.dumps(entries))
    code, _, error = run(monkeypatch, capfd, "score", tmp_path / "masks.json", f"folder:{tmp_path / 'data'}", "--out",
                         tmp_path / "scores.json")  # fmt: skip
    assert code == 0, error
    scores = json.loads((tmp_path / "scores.json").read_text())["scores"]
    assert scores["j&f"] == 1.0 and scores["samples"] == 5


def test_a_missing_frame_is_one_sentence(
    systems: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data, right, near = systems
    (near / "park" / "dog" / "f10.png").unlink()
    code, out, error = run(monkeypatch, capfd, "compare", right, near, "--truth", f"folder:{data}", "--out", data / "x")
    assert code == 2 and "There is no mask park/dog/f10.png" in error and error.count("\n") == 1 and not out
    assert not (data / "x").exists()


def test_two_systems_side_by_side(
    systems: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data, right, near = systems
    out = data.parent / "out"
    code, text, error = run(monkeypatch, capfd, "compare", right, near, "--truth", f"folder:{data}", "--out", out,
                            "--names", "ours,theirs")  # fmt: skip
    assert code == 0, error
    with (out / "per_question.csv").open() as file:
        rows = {row["key"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {"park/dog", "park/dog+ball", "park/absent", "street/2", "street/2#2"}
    for key, row in rows.items():
        assert float(row["j&f_first"]) == 1.0
        assert (float(row["lead"]) == 0.0) == (key == "park/absent")
        assert float(row["lead"]) == pytest.approx(1 - float(row["j&f_second"]))
    lead = statistics.fmean(float(row["lead"]) for row in rows.values())
    markdown = (out / "compare.md").read_text()
    assert f"| {100 * lead:.2f} |" in markdown and "ours is ahead in J&F in 100.0 % of the resamples" in markdown
    assert text.startswith(markdown.splitlines()[0])
    with (out / "per_frame.csv").open() as file:
        frames = list(csv.DictReader(file))
    assert len(frames) == 2 + 2 + 2 + 1 + 1
    mean = statistics.fmean(float(each["iou_second"]) for each in frames if each["key"] == "park/dog")
    assert mean == pytest.approx(float(rows["park/dog"]["j_second"]))
    page = (out / "compare.html").read_text("utf-8")
    assert page.count("data:image/jpeg;base64,") == 4 and "Where ours is ahead the most" in page and "Nowhere." in page

    swapped = data.parent / "swapped"
    run(monkeypatch, capfd, "compare", near, right, "--truth", f"folder:{data}", "--out", swapped)
    with (swapped / "per_question.csv").open() as file:
        assert statistics.fmean(float(row["lead"]) for row in csv.DictReader(file)) == pytest.approx(-lead)
    assert "near" in (swapped / "compare.md").read_text().splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["right", "right"], "are the same masks"),
        (["right", "near", "--names", "one"], "is no pair of names"),
        (["right", "near", "--truth", "a2d-sentences:data"], "cannot be compared one by one"),
        (["right", "nowhere"], "There is no nowhere"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    systems: tuple[Path, Path, Path],
    arguments: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(systems[0].parent)
    given = arguments if "--truth" in arguments else [*arguments, "--truth", "folder:data"]
    code, _, error = run(monkeypatch, capfd, "compare", *given, "--out", "out")
    assert code == 2 and told in error and error.count("\n") == 1 and not Path("out").exists()


def test_davis_objects_are_compared_by_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two objects of one video: they are hard together, so one video has no interval."""
    boxes = np.stack([empty(), empty()])
    boxes[0, 4:14, 5:15] = boxes[1, 22:32, 5:15] = True
    for place, shift in (("truth/Annotations/dogs", 0), ("a/dogs", 1), ("b/dogs", 3)):
        for index in range(2):
            objects = {number: shifted(box, shift) for number, box in enumerate(boxes, start=1)}
            write_palette(tmp_path / place / f"{index:05d}.png", objects)
    out = tmp_path / "out"
    code, _, error = run(monkeypatch, capfd, "compare", tmp_path / "a", tmp_path / "b", "--truth",
                         f"davis:{tmp_path / 'truth'}", "--out", out)  # fmt: skip
    assert code == 0, error
    with (out / "per_question.csv").open() as file:
        rows = [(row["key"], float(row["j_first"]), float(row["j_second"])) for row in csv.DictReader(file)]
    assert rows == [(f"dogs/{number}", 90 / 110, 70 / 130) for number in (1, 2)]
    assert "Intervals need two videos" in (out / "compare.md").read_text()


def test_the_interval_is_that_of_whole_videos() -> None:
    """Against a bootstrap written out, and with the width that the theory of means gives."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 6, 40)
    differences = {
        str(video): list(rng.normal(0.05, 0.1) + rng.normal(0, 0.01, count)) for video, count in enumerate(lengths)
    }
    found = paired_interval(differences)
    assert found is not None
    values = list(differences.values())
    assert found.mean == pytest.approx(statistics.fmean(value for each in values for value in each))
    again = np.random.default_rng(9)
    means = []
    for _ in range(4000):
        drawn = [values[place] for place in again.integers(len(values), size=len(values))]
        means.append(statistics.fmean(value for each in drawn for value in each))
    assert found.low == pytest.approx(np.quantile(means, 0.025), abs=0.004)
    assert found.high == pytest.approx(np.quantile(means, 0.975), abs=0.004)
    questions = paired_interval(
        {f"{video}/{place}": [value] for video, each in differences.items() for place, value in enumerate(each)}
    )
    assert questions is not None and questions.high - questions.low < found.high - found.low  # pretends to know more
    assert paired_interval({"one": [0.1, 0.2]}) is None
    assert paired_interval(differences) == found
