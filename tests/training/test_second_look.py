"""Training the second look: what may be said of things, the fit, scores, and the whole command."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from locater.inference.judging import meanings_of
from locater.model.checkpoint import load_second_look, save_pretrained
from locater.model.second_look import measures
from locater.training.second_look import fit as fitting
from locater.training.second_look.calibrate import Answer, calibrate
from locater.training.second_look.crops import crops_of_pack, crops_of_photographs
from locater.training.second_look.fit import Lesson, fit
from locater.training.second_look.labels import label
from tests.support.command_line.running import Ran, run_main
from tests.support.composed_sources import small_pack
from tests.support.datasets.making_stills import Thing, make_stills
from tests.support.photo_sources import draw_photograph
from tests.support.recognising import recognising

NAMED = [
    ("dog", ("animal",)),
    ("beagle", ("dog", "animal")),
    ("car", ("vehicle",)),
    ("person", ()),
    ("surfer", ("person",)),
]


def test_broader_nouns_are_true_narrower_ones_doubtful_and_others_false() -> None:
    labels = label(NAMED)
    said = {word: place for place, word in enumerate(labels.words)}

    def of(row: int, word: str) -> str:
        if not labels.is_known[row, said[word]]:
            return "doubtful"
        return "true" if labels.is_true[row, said[word]] else "false"

    assert [of(0, word) for word in ("dog", "animal", "beagle", "car")] == ["true", "true", "doubtful", "false"]
    assert [of(1, word) for word in ("beagle", "dog", "car")] == ["true", "true", "false"]
    assert [of(2, word) for word in ("car", "automobile", "dog")] == ["true", "true", "false"]  # synonyms
    assert [of(3, word) for word in ("man", "surfer", "dog")] == ["true", "doubtful", "false"]
    assert [of(4, word) for word in ("surfer", "person", "car")] == ["true", "true", "false"]


def lesson_of(nouns: list[str], per_noun: int, words: torch.Tensor) -> tuple[Lesson, list[str]]:
    """Crops whose features are a noun's own direction, and noise."""
    generator = torch.Generator().manual_seed(1)
    owners = [noun for noun in nouns for _ in range(per_noun)]
    directions = F.normalize(torch.randn(len(nouns), 40, generator=generator), dim=-1)
    seen = directions.repeat_interleave(per_noun, 0) + 0.1 * torch.randn(len(owners), 40, generator=generator)
    labels = label([(noun, ()) for noun in owners])
    order = [labels.words.index(noun) for noun in nouns]
    return Lesson(
        seen, torch.zeros(len(owners), 12), labels.is_true[:, order], labels.is_known[:, order], words
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
    assert crops and {crop.noun for crop in crops} <= set(pack.nouns.broader)
    assert all(crop.pixels.shape == (224, 224, 3) for crop in crops)
    draw_photograph(tmp_path / "n02088364_1_beagle.png", (30, 30, 90, 90))
    (beagle,) = crops_of_photographs(tmp_path)
    assert beagle.noun == "beagle" and "dog" in beagle.broader


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
    again = run(*asked)
    assert again.code == 2 and "another second_look" in again.err  # no run mixes answers with and without it
