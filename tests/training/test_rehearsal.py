"""Rehearsal while tuning: the start's own answers to words that nobody teaches; and what its second look says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from locater.config import preset
from locater.datasets.folder import FolderDataset
from locater.inference import judging
from locater.inference.judging import Judge
from locater.model.build import build
from locater.model.checkpoint import load_second_look, save_pretrained, save_second_look, with_words_of
from locater.model.locater import Locater
from locater.training.data.batches import mirrored
from locater.training.data.dataset_clips import DatasetData
from locater.training.finetune.rehearsal import ASKED, RehearsingData, rehearsing
from locater.training.finetune.settings import settings_for
from locater.training.finetune.taught_names import look_after_tuning
from tests.support.making_videos import moving_masks, result
from tests.support.recognising import believing, recognising
from tests.training.test_finetune import own_folder

CPU = torch.device("cpu")
KNOWN = ["the", "red", "dog", "cat", "running", "left", "on"]


@pytest.fixture
def start() -> Locater:
    return build(preset("tiny", {"text": {"vocabulary": KNOWN}}), 0).eval()


def data_of(root: Path, start: Locater) -> RehearsingData:
    folder = FolderDataset(own_folder(root))
    settings = settings_for(start.config, frozenset({"visual"}), "cpu", 2, {"steps": 1})
    found = rehearsing(DatasetData(folder, folder, 64, settings), start, CPU)
    assert isinstance(found, RehearsingData)
    return found


def test_each_clip_is_asked_for_other_things_and_the_start_answers(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start)
    assert set(data.known) == {"dog", "cat", "left"}  # not what the folder says, nor what names nothing
    batch = data.draw(data.plan([0, 5], 0.0), CPU)
    plain = data.data.plan([0, 5], 0.0)
    rows = 1 + ASKED
    assert len(batch.expressions) == len(batch.masks) == len(batch.is_annotated) == 2 * rows
    assert torch.equal(batch.masks[::rows], plain.masks) and torch.equal(batch.is_annotated[::rows], plain.is_annotated)
    assert batch.expressions[::rows] == plain.expressions
    others = [text for place, text in enumerate(batch.expressions) if place % rows]
    assert {text.removeprefix("the ") for text in others} <= set(data.known)
    with torch.no_grad():
        said = start(batch.frames[1:], batch.times[1:], batch.global_frames[1:], batch.global_times[1:],
                     start.read(others[ASKED:]), is_fine=False, is_refined=False).logits.sigmoid()  # fmt: skip
    theirs = torch.nn.functional.interpolate(said, size=(64, 64), mode="bilinear")
    # Logits are brought to size, then made likelihoods; the other way round is near.
    torch.testing.assert_close(batch.masks[rows + 1 :], theirs, rtol=0, atol=0.05)
    assert batch.is_annotated.view(2, rows, -1)[:, 1:].all()


def test_a_clips_number_decides_what_else_it_is_asked_for(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start)
    assert data.plan([3, 4], 0.0).others == data.plan([3], 0.0).others + data.plan([4], 1.0).others
    assert len({data.plan([number], 0.0).others for number in range(30)}) > 5


def test_validation_asks_what_the_folder_says_alone(tmp_path: Path, start: Locater) -> None:
    data = data_of(tmp_path, start)
    batch = data.draw(data.validation("all", [0, 1]), CPU)
    assert len(batch.expressions) == 2 and data.kinds == ["all"] and data.clip_count == 2


def test_mirrored_clips_keep_their_sentences(tmp_path: Path, start: Locater) -> None:
    batch = data_of(tmp_path, start).draw(data_of(tmp_path / "again", start).plan([0, 1], 0.0), CPU)
    flipped = mirrored(batch, 0, 1.0)
    assert torch.equal(flipped.masks, batch.masks.flip(-1))


def test_kin_are_the_known_words_nearest_in_meaning(tmp_path: Path) -> None:
    save_pretrained(recognising(tmp_path, ("the", "red", "car", "tench", "zorblax")), tmp_path / "plain")
    start = with_words_of(tmp_path / "plain", ["the car", "the tench"])
    data = data_of(tmp_path / "mine", start)
    assert set(data.known) == {"car", "tench"} and set(data.kin) == {"car", "tench"}


def test_a_start_without_words_of_its_own_is_tuned_as_it_is(tmp_path: Path) -> None:
    start = build(preset("tiny", {"text": {"vocabulary": ["the", "red", "zorblax"]}}), 0)
    folder = FolderDataset(own_folder(tmp_path))
    data = DatasetData(folder, folder, 64, settings_for(start.config, frozenset({"visual"}), "cpu", 2, {"steps": 1}))
    assert rehearsing(data, start, CPU) is data


def test_a_second_look_is_silent_on_new_names_and_on_those_it_would_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = recognising(tmp_path, ("the", "red", "car", "zorblax", "flamingo")).eval()
    root = own_folder(tmp_path / "mine")
    said = ("the flamingo", "the car", "the zorblax")
    lines = ("video,expression,object", *(f"clip{place % 2},{each},thing" for place, each in enumerate(said)))
    (root / "sentences.csv").write_text("\n".join(lines) + "\n")
    look = believing(model, ["car", "flamingo"], "car", 8.0)  # whatever it sees it takes for a car
    after = look_after_tuning(look, model, FolderDataset(root), frozenset({"the", "red", "car", "flamingo"}))
    assert after is not None and len(after.taught) == 2 and len(look.taught) == 0
    save_second_look(after, tmp_path / "second_look.safetensors")
    kept = load_second_look(tmp_path)
    assert kept is not None
    monkeypatch.setattr(judging, "_is_time", lambda _: True)
    made = result(0, moving_masks(0, count=3))
    made = replace(made, state=replace(made.state, expressions=said))
    for each, expected in ((look, [False, True, False]), (kept, [True, True, True])):
        (judged,) = Judge(model, each, threshold=0.0).over([made], None)
        assert [bool(np.any(mask)) for mask in judged.masks] == expected
    assert look_after_tuning(None, model, FolderDataset(root), frozenset()) is None
