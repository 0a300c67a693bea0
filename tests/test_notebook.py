"""The notebook for a first look runs from top to bottom."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import locater
from locater.config import preset
from locater.inference.segmenter import Segmenter
from locater.model.build import build
from locater.video.track import MaskTrack

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first_look.ipynb"
WORDS = ["cat", "cup", "left", "moves", "on", "right", "that", "the", "to"]


def run_cell(source: str, names: dict[str, object]) -> object:
    """What a notebook would show below the cell: the value of its last line, where that is an expression."""
    tree = ast.parse(source)
    last = tree.body[-1]
    before = tree.body[:-1] if isinstance(last, ast.Expr) else tree.body
    exec(compile(ast.Module(before, type_ignores=[]), NOTEBOOK.name, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)


@pytest.mark.filterwarnings("ignore:.*overlap in frame:UserWarning")  # an untrained network marks everything
def test_the_first_look_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def load_a_small_one(name: str) -> Segmenter:
        asked.append(name)
        return Segmenter(build(preset("tiny", {"text": {"vocabulary": WORDS}}), seed=0), "cpu")

    monkeypatch.setattr(locater, "load", load_a_small_one, raising=False)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    shown = [run_cell("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    assert asked == ["default"]
    track, corrected = names["track"], names["corrected"]
    assert isinstance(track, MaskTrack) and isinstance(corrected, MaskTrack)
    assert track in shown and 'src="data:image/jpeg;base64,' in track._repr_html_()
    assert [image.size for image in shown if isinstance(image, Image.Image)] == [(640, 360)] * 2
    assert not np.array_equal(track.masks(1), corrected.masks(1))
    assert corrected.mask(46, 1)[298, 317] and not corrected.mask(46, 1)[294, 99]
    assert {"overlay.mp4", "masks", "boxes.csv", "images"} <= {
        path.name for path in (tmp_path / "first_look").iterdir()
    }
    assert "0.58 s: " in capsys.readouterr().out  # the eighth frame
