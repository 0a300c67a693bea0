"""`locater explain`: one page, its numbers and a figure."""

import json
from pathlib import Path

import pytest
from PIL import Image

from locater.io.results_folder import MARKER
from tests.support.command_line.clips import DOG
from tests.support.command_line.running import Run


def test_a_sentence_is_explained(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run("explain", video, DOG, "--checkpoint", checkpoint, "--frames", 4, "--out", out)
    assert ran.code == 0 and "without dog" in ran.out
    assert {path.name for path in out.iterdir()} == {MARKER, "index.html", "explanation.json", "words.png"}
    numbers = json.loads((out / "explanation.json").read_text(encoding="utf-8"))
    assert numbers["words"] == DOG.split() and len(numbers["frames"]) == 4
    assert [sum(row) for row in numbers["word_attention"]] == pytest.approx([1.0] * 4, abs=1e-4)
    assert {each["word"] for each in numbers["removed_words"]} == {"dog", "left"}
    assert len(numbers["global_memory"]["read_by"]) == 4 and len(numbers["local_memory"]["read_by"]) == 3
    with Image.open(out / "words.png") as picture:
        picture.verify()
