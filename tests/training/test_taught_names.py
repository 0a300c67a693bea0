"""What a second look says after tuning on names of one's own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from locater.datasets.folder import FolderDataset
from locater.inference import judging
from locater.inference.judging import Judge
from locater.model.checkpoint import load_second_look, save_second_look
from locater.training.finetune.taught_names import look_after_tuning
from tests.support.making_videos import moving_masks, result
from tests.support.recognising import believing, recognising
from tests.training.test_finetune import own_folder


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
