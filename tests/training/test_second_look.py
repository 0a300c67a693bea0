"""Training the second look: what may be said of things, the fit, scores, and the whole command."""

import json
import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn import functional as F

from locater.datasets.catalog import find_source
from locater.errors import LocaterError
from locater.inference.judging import meanings_of
from locater.model.checkpoint import from_pretrained, load_second_look, save_pretrained
from locater.model.second_look import LEAD, RARE_GIVEN, RARE_LEAD, TAKEN_LEAD, measures, packed, unpacked
from locater.records import Pixels
from locater.training.second_look import command
from locater.training.second_look import fit as fitting
from locater.training.second_look import seen as seeing
from locater.training.second_look.boxes import crops_of_boxes
from locater.training.second_look.calibrate import Answer, calibrate
from locater.training.second_look.command import SecondLookRequest
from locater.training.second_look.crops import TIMES, crops_of_captioned, crops_of_pack, crops_of_photographs
from locater.training.second_look.fit import Lesson, fit
from locater.training.second_look.labels import Called, Labels, label
from locater.training.second_look.people import denied_roles, told_by
from locater.worlds.composed.pack.holdout import HoldOut
from tests.support.command_line.running import Ran, run_main
from tests.support.composed_sources import small_pack
from tests.support.datasets.making_stills import Thing, make_stills
from tests.support.photo_sources import draw_photograph
from tests.support.recognising import recognising

NAMED = [
    Called("dog", ("animal",)),
    Called("beagle", ("dog", "animal")),
    Called("car", ("vehicle",)),
    Called("person"),
    Called("surfer", ("person",)),
]


def said_of(labels: Labels, row: int, *words: str) -> list[str]:
    """Whether each of the words is true, false or doubtful of a crop."""
    places = [labels.words.index(word) for word in words]
    return [
        "doubtful" if not labels.is_known[row, place] else "true" if labels.is_true[row, place] else "false"
        for place in places
    ]


def test_broader_nouns_are_true_narrower_ones_doubtful_and_others_false() -> None:
    labels = label(NAMED)
    assert said_of(labels, 0, "dog", "animal", "beagle", "car") == ["true", "true", "doubtful", "false"]
    assert said_of(labels, 1, "beagle", "dog", "car") == ["true", "true", "false"]
    assert said_of(labels, 2, "car", "automobile", "dog") == ["true", "true", "false"]  # synonyms
    assert said_of(labels, 3, "man", "surfer", "dog") == ["true", "doubtful", "false"]
    assert said_of(labels, 4, "surfer", "person", "car") == ["true", "true", "false"]


def test_what_is_denied_is_false_and_sex_and_age_are_true_of_those_alone_of_whom_they_are_told() -> None:
    people = [
        Called("man", ("person",), ("woman", "lady", "skier")),
        Called("woman", ("person",), ("man", "guy", "boy")),
        Called("person", (), ("skier",)),
        Called("surfer", ("person",)),
        Called("skier", ("person",)),
    ]
    labels = label(people)
    assert said_of(labels, 0, "man", "guy", "person", "woman") == ["true", "true", "true", "false"]
    assert said_of(labels, 0, "skier", "surfer") == ["false", "doubtful"]
    assert said_of(labels, 1, "woman", "lady", "man", "skier") == ["true", "true", "false", "doubtful"]
    assert said_of(labels, 2, "man", "woman", "skier", "surfer") == ["doubtful", "doubtful", "false", "doubtful"]
    assert said_of(labels, 3, "surfer", "skier", "person", "man") == ["true", "false", "true", "doubtful"]


def test_captions_tell_sex_and_age_where_two_agree_and_none_says_otherwise() -> None:
    assert told_by(["A man on a bench", "a guy sits", "somebody waits"]) == ("man", ("woman", "lady", "girl", "boy"))
    assert told_by(["two girls", "a girl with a kite"]) == ("girl", ("man", "guy", "boy", "woman", "lady"))
    assert told_by(["a girl", "a woman"]) == ("person", ("man", "guy", "boy"))  # the age is not told
    assert told_by(["a man", "a man", "a woman"]) is None
    assert told_by(["a man", "a person", "a snowman"]) is None


def test_nobody_is_what_it_takes_other_things_for() -> None:
    assert {"skier", "surfer", "tennis player", "player", "rider"} <= set(denied_roles({"dog", "person"}))
    assert "skier" not in denied_roles({"skis"}) and "surfer" in denied_roles({"skis"})
    assert "player" not in denied_roles({"sports ball"}) and "tennis player" in denied_roles({"sports ball"})
    assert "skater" not in denied_roles({"dog"})  # there are other skates than skateboards


def lesson_of(nouns: list[str], per_noun: int, words: torch.Tensor) -> tuple[Lesson, list[str]]:
    """Crops whose features are a noun's own direction, and noise."""
    generator = torch.Generator().manual_seed(1)
    owners = [noun for noun in nouns for _ in range(per_noun)]
    directions = F.normalize(torch.randn(len(nouns), 40, generator=generator), dim=-1)
    seen = directions.repeat_interleave(per_noun, 0) + 0.1 * torch.randn(len(owners), 40, generator=generator)
    labels = label([Called(noun) for noun in owners])
    order = [labels.words.index(noun) for noun in nouns]
    rivals = ~torch.eye(len(nouns), dtype=torch.bool)
    return Lesson(
        seen, torch.zeros(len(owners), 12), labels.is_true[:, order], labels.is_known[:, order], words, rivals
    ), owners


def test_the_fit_tells_trained_nouns_apart_and_knows_which_they_are() -> None:
    nouns = ["car", "goldfish", "flamingo", "tench"]
    words = F.normalize(torch.randn(4, 12, generator=torch.Generator().manual_seed(0)), dim=-1)
    lesson, owners = lesson_of(nouns, 120, words)
    look = fit(lesson, steps=150)
    with torch.no_grad():
        logits = look(lesson.seen, lesson.taken_for, words)
    own = torch.tensor([nouns.index(noun) for noun in owners])
    is_own = F.one_hot(own, 4).bool()
    assert (logits[is_own] > 0).float().mean() > 0.97 and (logits[~is_own] < 0).float().mean() > 0.97
    assert len(look.familiar) == 4 and look.familiarity(words).min() > 0.99
    assert torch.equal(look.familiarity(-words.sum(0, keepdim=True) * 0), torch.zeros(1))


def test_a_noun_yields_to_a_rival_that_fits_much_better() -> None:
    nouns = ["car", "goldfish", "flamingo", "tench"]
    words = F.normalize(torch.randn(4, 12, generator=torch.Generator().manual_seed(0)), dim=-1)
    lesson, _ = lesson_of(nouns, 120, words)
    look = fit(lesson, steps=150)
    strange = F.normalize(torch.ones(1, 12), dim=-1)
    with torch.no_grad():
        asked = torch.cat([words, strange])
        logits = look(lesson.seen, lesson.taken_for, asked)
        verdicts = look.verdicts(lesson.seen, lesson.taken_for, look.asked(asked))
        for noun in range(4):
            best = logits[:, [other for other in range(4) if other != noun]].amax(1)
            expected = torch.minimum(logits[:, noun], LEAD * (logits[:, noun] - best))
            torch.testing.assert_close(verdicts[:, noun], expected)
        assert (verdicts < logits - 1).any() and torch.equal(verdicts[:, 4], logits[:, 4])  # it is no well-trained noun
        look.rivals.zero_()
        assert torch.equal(look.verdicts(lesson.seen, lesson.taken_for, look.asked(asked)), logits)


def test_a_noun_that_was_seldom_trained_yields_to_rivals_and_to_what_the_crop_is_taken_for() -> None:
    nouns = ["car", "goldfish", "flamingo", "tench"]
    words = F.normalize(torch.randn(4, 12, generator=torch.Generator().manual_seed(0)), dim=-1)
    lesson, owners = lesson_of(nouns, 120, words)
    few = torch.tensor([noun != "tench" or place % 120 < 20 for place, noun in enumerate(owners)])
    lesson = replace(
        lesson,
        seen=lesson.seen[few],
        taken_for=words[[nouns.index(noun) for noun, kept in zip(owners, few, strict=True) if kept]],
        is_true=lesson.is_true[few],
        is_known=lesson.is_known[few],
    )
    look = fit(lesson, steps=150)
    assert len(look.familiar) == 3 and torch.equal(look.rare, words[3:])
    assert look.familiarity(words)[3] < 0.99  # it is still not well trained
    with torch.no_grad():
        asked = look.asked(words)
        logits, verdicts = (
            look(lesson.seen, lesson.taken_for, words),
            look.verdicts(lesson.seen, lesson.taken_for, asked),
        )
    taken = lesson.taken_for @ words.T
    expected = torch.stack(
        [
            logits[:, 3],
            RARE_LEAD * (logits[:, 3] - logits[:, :3].amax(1)),
            TAKEN_LEAD * (taken[:, 3] - taken[:, :3].amax(1)),
        ]
    ).amin(0)
    torch.testing.assert_close(verdicts[:, 3], expected + RARE_GIVEN)
    is_own = lesson.is_true[:, 3]
    assert (verdicts[is_own, 3] > verdicts[~is_own, 3].max()).float().mean() > 0.9
    lead = LEAD * (logits[:, 0] - logits[:, 1:3].amax(1))  # a rare noun is no rival by its own logits
    torch.testing.assert_close(verdicts[:, 0], torch.minimum(logits[:, 0], lead))


def test_rivals_are_near_kin_that_is_never_true_at_once() -> None:
    named = [Called("dog", ("animal",)), Called("cat", ("animal",)), Called("car", ("vehicle",)), Called("animal")]
    named += [Called("man", ("person",), ("woman", "lady")), Called("woman", ("person",), ("man", "guy"))]
    labels = label([*named, Called("surfer", ("person",))])
    rivals = labels.rivals()

    def are_rivals(asked: str, other: str) -> bool:
        return bool(rivals[labels.words.index(asked), labels.words.index(other)])

    assert are_rivals("dog", "cat") and are_rivals("woman", "man") and are_rivals("lady", "guy")
    assert not are_rivals("dog", "car") and not are_rivals("dog", "animal") and not are_rivals("man", "guy")
    assert not are_rivals("man", "surfer")  # a surfer may be a man
    things = label([Called(noun) for noun in ("fork", "knife", "cup", "bowl", "bench")])

    def are_kin(asked: str, other: str) -> bool:
        return bool(things.rivals()[things.words.index(asked), things.words.index(other)])

    assert are_kin("fork", "knife") and are_kin("knife", "cup") and not are_kin("knife", "bench")
    assert not are_kin("cup", "bowl")  # too much alike


def test_scores_are_calibrated_on_videos_that_were_not_fitted(tmp_path: Path) -> None:
    model = recognising(tmp_path)
    nouns = ["car", "goldfish", "flamingo", "tench"]
    lesson, owners = lesson_of(nouns, 110, meanings_of(model, nouns))
    rng = np.random.default_rng(0)
    answers = []
    for number in range(600):
        row = int(rng.integers(len(owners)))
        asked = owners[row] if rng.random() < 0.5 else nouns[int(rng.integers(4))]
        is_right = asked == owners[row] and rng.random() < 0.8  # a fifth of the right things is badly drawn
        answers.append(Answer(f"video {number}", asked, lesson.seen[row], lesson.taken_for[row], 0.9, is_right))
    look = fit(lesson, steps=150)
    found = calibrate(look, model, answers)
    assert found.error < 0.12 and 200 < found.count < 600  # what is not believed has no score
    assert found.bins[-1].right > 0.6
    given = measures(torch.tensor([2.0, 2.0]), torch.tensor([1.0, 0.5]), torch.tensor([0.5, 0.5]))
    torch.testing.assert_close(given, torch.tensor([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]))


def test_crops_come_from_packs_and_from_named_photographs(tmp_path: Path) -> None:
    pack = small_pack()
    crops = list(crops_of_pack(pack))
    assert crops and {crop.called.noun for crop in crops} <= set(pack.nouns.broader)
    assert all(crop.pixels.shape == (224, 224, 3) for crop in crops)
    draw_photograph(tmp_path / "n02088364_1_beagle.png", (30, 30, 90, 90))
    (beagle,) = crops_of_photographs(tmp_path)
    assert beagle.called.noun == "beagle" and "dog" in beagle.called.broader


def test_crops_come_from_pictures_whose_captions_tell_of_one_person(tmp_path: Path) -> None:
    one, small = Thing("person", (4, 4, 20, 16)), Thing("person", (30, 4, 4, 4))
    pictures = [
        [one, small],
        [one],
        [one, Thing("person", (28, 4, 18, 16))],
        [one],
        [one, Thing("skis", (2, 16, 20, 4))],
    ]
    said = {"1": ["a man", "a man"], "2": ["a dog"], "3": ["two men", "men"], "4": ["a boy"] * 2, "5": ["a lady"] * 3}
    make_stills(tmp_path, pictures, said)
    crops = list(crops_of_captioned(tmp_path, but={"4.png"}))
    assert [crop.called.noun for crop in crops] == ["man"] * TIMES + ["woman"] * TIMES
    assert "skier" in crops[0].called.denied and "woman" in crops[0].called.denied
    assert "skier" not in crops[-1].called.denied and "man" in crops[-1].called.denied
    assert crops[0].pixels.shape == (224, 224, 3)


def test_crops_come_from_files_of_boxes(tmp_path: Path) -> None:
    person, board, dog = ["person", 40, 20, 140, 200], ["surfboard", 40, 150, 180, 220], ["dog", 150, 100, 240, 200]
    found, missed = [0.9, 0.9, "runs"], [0.9, 0.9, ""]
    facts = {"width": 640, "height": 480, "size": [256, 256]}
    rows = [
        {"id": "1", "objects": [[*person, *found], [*board, *found]], "small": [], **facts},
        {"id": "2", "objects": [[*person, *found], [*dog, *missed]], "small": [["skis", 0, 0, 9, 9]], **facts},
    ]
    for row in rows:
        Image.new("RGB", (256, 256), (90, 120, 40)).save(tmp_path / f"{row['id']}.jpg")
    with lzma.open(tmp_path / "boxes.jsonl.xz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    crops = {crop.called.noun: crop.called for crop in crops_of_boxes([tmp_path / "boxes.jsonl.xz"], tmp_path)}
    assert crops.keys() == {"surfer", "surfboard", "person"}  # the dog has no mask, so nobody checked its box
    assert crops["surfer"].broader == ("person",) and not crops["surfer"].denied
    assert "surfer" in crops["person"].denied and "skier" not in crops["person"].denied


def test_kept_crops_are_refused_where_answers_are_on_other_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Thing("person", (4, 4, 24, 16))
    make_stills(tmp_path / "all", [[one]] * 3, {str(number): ["a man", "a man"] for number in (1, 2, 3)})
    make_stills(tmp_path / "first", [[one]], {"1": ["a man", "a man"]})
    looks: list[int] = []

    def look_at(_: object, pixels: list[Pixels]) -> tuple[torch.Tensor, torch.Tensor]:
        looks.append(len(pixels))
        return torch.rand(len(pixels), 4), torch.rand(len(pixels), 3)

    monkeypatch.setattr(seeing, "look_at", look_at)

    def seen(asked: str) -> seeing.Seen:
        data = find_source(f"coco-val:{tmp_path / asked}").open()
        held_out, file = HoldOut.of([""]), tmp_path / "crops.safetensors"
        request = SecondLookRequest(
            "shapes", None, (), None, None, tmp_path / "all", file, held_out, tmp_path, data, tmp_path / "out"
        )
        return command._seen(request, from_pretrained("shapes"), lambda _: None)

    kept = seen("first")
    assert len(kept.called) == sum(looks) == 2 * TIMES  # of the two pictures that nothing was asked about
    assert torch.equal(seen("first").seen, kept.seen) and sum(looks) == 2 * TIMES
    with pytest.raises(LocaterError, match="other pictures"):
        seen("all")


def test_the_command_makes_a_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> Ran:
        return run_main(monkeypatch, capfd, *arguments)

    monkeypatch.setattr(fitting, "STEPS", 8)
    model = recognising(tmp_path, ("the", "dog", "car", "person", "boat", "cat", "bus", "cow", "truck"))
    save_pretrained(model, tmp_path / "checkpoint")
    make_stills(tmp_path / "stills", [[Thing(name, (4, 4, 20, 16))] for name in ("dog", "car", "boat", "dog", "bus")])
    pack, stills = small_pack().folder, f"coco-val:{tmp_path / 'stills'}"
    asked = ("evaluate", tmp_path / "checkpoint", stills, "--failures", 0, "--out", tmp_path / "answers")
    assert run(*asked).code == 0
    out = tmp_path / "checkpoint" / "second_look.safetensors"
    arguments = ("second-look", tmp_path / "checkpoint", "--pack", pack, "--data", stills, "--out", out, "--answers")
    refused = run(*arguments, tmp_path / "none")
    assert refused.code == 2 and "holds no answers" in refused.err and not out.exists()
    made = run(*arguments, tmp_path / "answers")
    assert made.code == 0 and "Expected calibration error" in made.out
    assert load_second_look(tmp_path / "checkpoint") is not None
    kept = ("--seen", tmp_path / "crops.safetensors", "--out", tmp_path / "other.safetensors")
    first = run(*arguments, tmp_path / "answers", *kept)
    monkeypatch.setattr(seeing, "look_at", lambda *_: pytest.fail("It looked again."))
    assert first.code == 0 and run(*arguments, tmp_path / "answers", *kept).out == first.out
    others = run(*arguments, tmp_path / "answers", "--photographs", tmp_path, *kept)
    assert others.code == 2 and "other pictures" in others.err
    nothing = run(*arguments, tmp_path / "answers", "--hold-out", "dog,car", *kept)
    assert nothing.code == 0 and nothing.out != first.out
    again = run(*asked)
    assert again.code == 2 and "another second_look" in again.err  # no run mixes answers with and without it


@pytest.mark.parametrize("count", [0, 1, 8, 21])
def test_a_table_of_rivals_is_kept_in_bits(count: int) -> None:
    table = torch.rand(count, count, generator=torch.Generator().manual_seed(count)) > 0.5
    bits = packed(table)
    assert bits.dtype == torch.uint8 and bits.shape == (count, -(-count // 8))
    assert torch.equal(unpacked(bits), table)
