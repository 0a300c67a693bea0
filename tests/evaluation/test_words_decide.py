"""Right and wrong sentences and joined pairs, through the real runner: who listens, who does not, who says nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from locater.datasets.catalog import Source
from locater.datasets.davis import DavisSentences, described_sequences, further_sentences
from locater.evaluation.run.contrasts import CONTRASTS, CROWD, WRITTEN, WRONG, ContrastedDataset
from locater.evaluation.run.evaluate import EvaluateRequest, evaluate
from locater.evaluation.run.processes import Place
from locater.records import Mask, Pixels, SampleInfo
from tests.support.datasets.making_datasets import real_data
from tests.support.datasets.making_davis import FRAMES, UNSEEN, colour_of, make_davis, things_in, true_mask
from tests.support.evaluating.command import run
from tests.support.evaluating.scripted import ScriptedSegmenter

Answer = Callable[[Pixels, str], Mask]
SEQUENCE_OF = {
    sentence: sequence for sequence, each in described_sequences().items() for sentence in each.sentences.values()
}
SEQUENCE_OF_CROWD = {
    sentence: sequence
    for sequence, kinds in further_sentences("davis_crowd_sentences.tsv").items()
    for sentence in kinds.get("crowd", ())
}
QUESTIONS = {  # of each group, pairs included
    "right": 90,
    CROWD: 13,
    WRONG: 90,
    "wrong_far": 60,
    "wrong_kin": 90,
    "wrong_attribute": 12,
    "spatial": 60,
    "temporal": 60,
}


def listening(pixels: Pixels, expression: str) -> Mask:
    """The thing of the sequence that the sentence is right for; nothing where it is right for none."""
    sequence = (SEQUENCE_OF | SEQUENCE_OF_CROWD).get(expression)
    if sequence is None:
        return silent(pixels, expression)
    mask: Mask = (pixels == colour_of(sequence)).all(axis=2)
    return mask


def deaf(pixels: Pixels, _: str) -> Mask:
    """Whatever stands out."""
    return things_in(pixels)


def silent(pixels: Pixels, _: str) -> Mask:
    """Nothing."""
    return np.zeros(pixels.shape[:2], np.bool_)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("davis")
    make_davis(folder)
    return folder


def scored(
    checkpoint: Path, root: Path, out: Path, rule: Answer, contrasts: tuple[str, ...] = CONTRASTS
) -> dict[str, Any]:
    asked = EvaluateRequest(str(checkpoint), Source("davis", root), out, failures=1, contrasts=contrasts)
    scripted = ScriptedSegmenter(checkpoint, lambda _, frame, expression: rule(frame.pixels, expression))
    found = evaluate(asked, scripted, Place(0, 1, 0)).results
    assert found is not None
    return found


def test_who_listens_is_right_everywhere(checkpoint: Path, root: Path, tmp_path: Path) -> None:
    found = scored(checkpoint, root, tmp_path, listening)
    words = found["words"]
    assert {name: words[name]["samples"] for name in words} == QUESTIONS
    for name in ("right", CROWD, *CONTRASTS):
        assert words[name]["j"] == words[name]["f"] == words[name]["j&f_visible"] == 1
        assert words[name]["not_taken_share"] is None
    for name in (WRONG, *WRITTEN):
        assert words[name]["j&f"] == 0 and words[name]["empty_share"] == words[name]["not_taken_share"] == 1
    assert words["temporal"]["frames"] == 2 * words["spatial"]["frames"] == 60 * 2 * FRAMES
    # The whole is that of the right sentences; each kind stands on its own.
    assert found["scores"]["samples"] == 90 and found["scores"]["j&f"] == 1
    assert {kind: each["samples"] for kind, each in found["by"]["kind"].items()} == dict.fromkeys(
        ("noun", "attribute", "action"), 30
    )
    assert len((tmp_path / "per_sample.csv").read_text().splitlines()) == 1 + sum(QUESTIONS.values())
    # No wrong sentence is among the failures, though its score is the lowest.
    assert [WRONG in path.name for path in (tmp_path / "failures").iterdir()] == [False]
    text = (tmp_path / "results.md").read_text()
    assert "| a wrong sentence (lower is better) | 90 | 0.00 | 0.00 | 0.00 | 0.00 | 100.00 | 100.00 |" in text
    assert "| wrong: near kin | 90 | 0.00 |" in text


def test_who_is_deaf_is_found_out(checkpoint: Path, root: Path, tmp_path: Path) -> None:
    words = scored(checkpoint, root, tmp_path, deaf)["words"]
    assert words["right"]["j&f"] == words[CROWD]["j&f"] == 1
    for name in (WRONG, *WRITTEN):
        assert words[name]["j&f"] == 1 and words[name]["empty_share"] == words[name]["not_taken_share"] == 0
    assert words["spatial"]["j"] < 0.7
    assert words["temporal"]["j"] < 0.6 and words["temporal"]["j&f_visible"] == 1


def beside(pixels: Pixels, _: str) -> Mask:
    """The lowest row of the thing, and all that is not it."""
    thing = things_in(pixels)
    mask: Mask = ~thing
    mask[np.flatnonzero(thing.any(axis=1))[-1:]] = True
    return mask


def test_an_object_is_left_alone_though_the_mask_is_not_empty(checkpoint: Path, root: Path, tmp_path: Path) -> None:
    words = scored(checkpoint, root, tmp_path, beside, ())["words"]
    for name in (WRONG, *WRITTEN):
        assert words[name]["empty_share"] == 0 and words[name]["not_taken_share"] == 1 and 0 < words[name]["j"] < 0.25


def test_who_says_nothing_gains_what_is_empty(checkpoint: Path, root: Path, tmp_path: Path) -> None:
    assert not true_mask(UNSEEN, FRAMES - 1).any()
    words = scored(checkpoint, root, tmp_path, silent)["words"]
    unseen = 1 / 30 / FRAMES  # one frame of one sequence
    assert words["right"]["j"] == pytest.approx(unseen) and words["right"]["j&f_visible"] == 0
    assert words[WRONG]["j"] == 0 and words[WRONG]["frames"] == 90 * FRAMES - 3  # where it is unseen, none is wrong
    assert words["spatial"]["j&f"] == pytest.approx(unseen) and words["spatial"]["empty_share"] == 1
    assert words["temporal"]["j&f"] == pytest.approx(0.5 + unseen / 2) and words["temporal"]["j&f_visible"] == 0


def test_contrasts_can_be_added_to_a_finished_run(checkpoint: Path, root: Path, tmp_path: Path) -> None:
    first = scored(checkpoint, root, tmp_path / "run", listening, ())
    assert list(first["words"]) == ["right", CROWD, WRONG, *WRITTEN]
    more = scored(checkpoint, root, tmp_path / "run", silent, ("spatial",))  # what was answered is not asked again
    assert more["words"]["right"] == first["words"]["right"] and more["words"]["spatial"]["j"] < 0.1


def no_class_is_shared(dataset: ContrastedDataset) -> None:
    classes = {name: each.classes for name, each in described_sequences().items()}
    pairs: dict[tuple[str, str], list[SampleInfo]] = {}
    for info in dataset.samples():
        if info.kind == WRONG:
            assert not classes[info.video] & classes[SEQUENCE_OF[info.expression]], info
        elif info.kind in CONTRASTS:
            query, other = info.video.split("/")[1].split("+")
            assert SEQUENCE_OF[info.expression] == query and not classes[query] & classes[other], info
            pairs.setdefault((info.kind, query), []).append(info)
    assert len(pairs) == 60
    for first, second in pairs.values():  # the same sentence and partner, once on either side
        assert first.expression == second.expression
        assert first.key.removesuffix("/first") == second.key.removesuffix("/second")


def test_questions_are_fixed_and_never_share_a_class(root: Path) -> None:
    dataset = DavisSentences(root, "train")
    contrasted = ContrastedDataset(dataset, CONTRASTS)
    no_class_is_shared(contrasted)
    again = ContrastedDataset(dataset, CONTRASTS[::-1])
    assert set(contrasted.samples()) == set(again.samples())
    assert len({info.key for info in contrasted.samples()}) == sum(QUESTIONS.values())
    # By lot, but the same lot for everybody: figures of two versions can be compared.
    wrong = {info.key: info.expression for info in contrasted.samples() if info.kind == WRONG}
    assert wrong["bear/noun/wrong"] == "the man on a scooter"
    assert wrong["tennis/action/wrong"] == "the rhino walking behind the tree"


def test_real_pairs_are_joined() -> None:
    dataset = DavisSentences(real_data("davis2016_train_240p"), "train")
    contrasted = ContrastedDataset(dataset, CONTRASTS)
    for kind in CONTRASTS:
        infos = [info for info in contrasted.samples() if info.kind == kind]
        for info in infos[16:18]:  # the two sides of one pair
            sample = contrasted.load(info)
            frames = list(sample.frames.frames())
            expected = (sample.frames.info.height, sample.frames.info.width, 3)
            assert {frame.pixels.shape for frame in frames} == {expected}
            assert [frame.index for frame in frames] == list(sample.masks)
            assert {mask.shape for mask in sample.masks.values()} == {expected[:2]}
            assert any(mask.any() for mask in sample.masks.values())


@pytest.mark.filterwarnings("ignore::locater.inference.segmenter.NotUnderstoodWarning")
def test_the_command(
    checkpoint: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", checkpoint, f"davis:{root}", "--out", tmp_path / "run", "--device", "cpu"]
    code, out, _ = run(monkeypatch, capfd, *words, "--limit", 6, "--contrast", "spatial, temporal")
    assert code == 0 and "## Whether the words decide" in out and "| the right sentence | 3 |" in out
    assert list(json.loads((tmp_path / "run" / "results.json").read_text())["words"]) == ["right", WRONG]
    code, _, err = run(monkeypatch, capfd, *words, "--contrast", "spacial")
    assert code == 2 and "There is no contrast 'spacial'; choose spatial or temporal" in err
    shapes = ["evaluate", checkpoint, "shapes", "--out", tmp_path / "no", "--device", "cpu"]
    code, _, err = run(monkeypatch, capfd, *shapes, "--contrast", "spatial")
    assert code == 2 and err.count("\n") == 1 and "which shapes-test does not say" in err
