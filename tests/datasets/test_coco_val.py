"""COCO as a benchmark of single pictures: what is asked of made photographs, and of the real ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from locater.datasets.coco_val import ABSENT_KINDS, FAMILIES, KINDS, CocoVal
from locater.datasets.reading.problems import sample_problems
from locater.errors import LocaterError
from locater.records import Mask, SampleInfo
from tests.support.datasets.making_datasets import real_data
from tests.support.datasets.making_stills import Thing, box_mask, make_stills

FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names}


def asked(root: Path, *pictures: list[Thing], captions: dict[str, list[str]] | None = None) -> dict[str, SampleInfo]:
    make_stills(root, pictures, captions)
    return {info.key: info for info in CocoVal(root, "val").samples()}


def of_kind(infos: dict[str, SampleInfo], kind: str) -> dict[str, str]:
    return {key: info.expression for key, info in infos.items() if info.kind == kind}


def mask_of(root: Path, info: SampleInfo) -> Mask:
    return CocoVal(root, "val").load(info).masks[0]


def test_the_80_classes_have_one_family_each() -> None:
    names = [name for of_family in FAMILIES.values() for name in of_family]
    assert len(names) == len(set(names)) == 80


def test_the_only_one_is_asked_for_by_its_noun(tmp_path: Path) -> None:
    infos = asked(tmp_path, [Thing("dog", (4, 4, 20, 30)), Thing("cat", (40, 10, 16, 16))])
    assert of_kind(infos, "noun") == {"noun/1/dog": "the dog", "noun/1/cat": "the cat"}
    assert np.array_equal(mask_of(tmp_path, infos["noun/1/dog"]), box_mask((4, 4, 20, 30)))
    sample = CocoVal(tmp_path, "val").load(infos["noun/1/dog"])
    assert [frame.pixels.shape[:2] for frame in sample.frames.frames()] == [sample.masks[0].shape]
    assert list(sample_problems(CocoVal(tmp_path, "val"), list(infos.values()))) == []


@pytest.mark.parametrize(
    "beside",
    [
        Thing("dog", (40, 10, 16, 16)),  # another
        Thing("dog", (40, 10, 16, 16), is_crowd=True),  # a crowd, or one without a mask
    ],
)
def test_no_noun_where_there_is_more_of_it(tmp_path: Path, beside: Thing) -> None:
    infos = asked(tmp_path, [Thing("dog", (4, 4, 20, 30)), beside, Thing("bus", (40, 30, 20, 16))])
    assert list(of_kind(infos, "noun")) == ["noun/1/bus"]


def test_what_is_too_small_or_of_an_unknown_class_is_not_asked_about(tmp_path: Path) -> None:
    tiny, unknown = [Thing("dog", (4, 4, 5, 5))], [Thing("dog", (4, 4, 20, 30)), Thing("animal", (40, 10, 16, 16))]
    assert asked(tmp_path, tiny, unknown) == {}


def test_absent_things_are_absent_and_kin_or_not(tmp_path: Path) -> None:
    crowd = Thing("sheep", (40, 10, 16, 16), is_crowd=True)
    names = [*FAMILIES["animals"][:4], *FAMILIES["vehicles"], *FAMILIES["food"]]
    pictures = [[Thing(name, (4, 4, 20, 30)), crowd] for name in names]
    infos = asked(tmp_path, *pictures)
    kin, far = of_kind(infos, "absent_kin"), of_kind(infos, "absent_far")
    assert len(kin) == len(far) == len(names)
    for sentences, is_kin in ((kin, True), (far, False)):
        for key, sentence in sentences.items():
            seen, named = key.split("/")[2], sentence.removeprefix("the ")
            assert named not in (seen, "sheep", "person")
            assert (FAMILY_OF[named] == FAMILY_OF[seen]) == is_kin
            assert is_kin or FAMILY_OF[named] != "animals"  # the sheep's
            assert infos[key].object_id is None and not mask_of(tmp_path, infos[key]).any()
    assert len(set(kin.values())) > 5  # by lot, not always the first
    # Somebody may call a truck a car, and a laptop has a keyboard.
    assert not {sentence for key, sentence in kin.items() if "/truck" in key} & {"the car", "the bus"}


def test_two_are_told_apart_by_their_side(tmp_path: Path) -> None:
    left, right = (4, 4, 20, 30), (40, 6, 20, 30)
    infos = asked(tmp_path, [Thing("dog", right), Thing("dog", left)])
    assert of_kind(infos, "place") == {
        "place/1/dog/left": "the dog on the left",
        "place/1/dog/right": "the dog on the right",
    }
    for side, meant, other in (("left", left, right), ("right", right, left)):
        info = infos[f"place/1/dog/{side}"]
        assert np.array_equal(mask_of(tmp_path, info), box_mask(meant))
        assert [mask.tolist() for mask in CocoVal(tmp_path, "val").others(info)] == [box_mask(other).tolist()]
    assert of_kind(infos, "crowd") == {}


@pytest.mark.parametrize("second", [(8, 6, 20, 30), (18, 6, 30, 30)])  # one before the other; too much shared
def test_no_side_where_it_is_not_clear(tmp_path: Path, second: tuple[int, int, int, int]) -> None:
    assert of_kind(asked(tmp_path, [Thing("dog", (4, 4, 24, 30)), Thing("dog", second)]), "place") == {}


def test_one_of_many_people_is_the_outermost(tmp_path: Path) -> None:
    people = [Thing("person", (x, 4, 8, 30)) for x in (24, 2, 36)]  # the right two are too near to each other
    infos = asked(tmp_path, [*people, Thing("person", (39, 4, 8, 30))])
    assert of_kind(infos, "crowd") == {"crowd/1/person/left": "the person on the far left"}
    assert np.array_equal(mask_of(tmp_path, infos["crowd/1/person/left"]), box_mask((2, 4, 8, 30)))
    assert len(CocoVal(tmp_path, "val").others(infos["crowd/1/person/left"])) == 3
    assert of_kind(infos, "place") == {}


def test_captions_give_phrases(tmp_path: Path) -> None:
    said = ["A dog on a bed.", "The white bear statue and A SMALL brown dog, asleep.", "a sleepy dog"]
    infos = asked(tmp_path, [Thing("dog", (4, 4, 20, 30)), Thing("bear", (40, 4, 20, 30))], captions={"1": said})
    assert of_kind(infos, "phrase") == {"phrase/1/dog": "a small brown dog"}
    assert np.array_equal(mask_of(tmp_path, infos["phrase/1/dog"]), box_mask((4, 4, 20, 30)))


def test_kinds_take_turns_and_are_drawn_the_same_whatever_else_is_there(tmp_path: Path) -> None:
    pictures = [[Thing("dog", (4, 4, 20, 30)), Thing("bus", (40, 10, 16, 16))] for _ in range(8)]
    make_stills(tmp_path, pictures)
    every = [info.key for info in CocoVal(tmp_path, "val").samples()]
    few = CocoVal(tmp_path, "val", most=3).samples()
    kinds = ["noun", *ABSENT_KINDS]
    assert [info.kind for info in few] == 3 * kinds and [info.key for info in few] == every[:9]
    make_stills(tmp_path, pictures[:4])
    fewer = [info.key for info in CocoVal(tmp_path, "val").samples() if info.kind == "noun"]
    assert fewer == [key for key in every if key.split("/")[0] == "noun" and int(key.split("/")[1]) <= 4]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match=r"instances.json is missing"):
        CocoVal(tmp_path, "val")
    infos = asked(tmp_path, [Thing("dog", (4, 4, 20, 30))])
    (tmp_path / "images/1.png").unlink()
    problems = list(sample_problems(CocoVal(tmp_path, "val"), list(infos.values())))
    assert problems and "1.png is missing" in problems[0]


def test_real_photographs() -> None:
    dataset = CocoVal(real_data("coco_subset"), "val")
    infos = dataset.samples()
    counts = {kind: sum(info.kind == kind for info in infos) for kind in KINDS}
    assert counts["noun"] == counts["absent_kin"] == counts["absent_far"] == 200
    assert counts["place"] > 50 and counts["crowd"] > 10 and counts["phrase"] == 0
    for info in infos[:40]:
        sample: Any = dataset.load(info)
        assert sample.masks[0].shape == next(sample.frames.frames()).pixels.shape[:2]
        assert sample.masks[0].any() == (info.kind not in ABSENT_KINDS)
