"""What docs/outputs.md shows works as shown, with a tiny network in the place of `default`."""

import re
import shlex
from functools import partial
from pathlib import Path

import pytest

import locater
from locater.io.results_folder import MARKER
from locater.video.writer import FORMATS
from tests.support.command_line.clips import FRAMES, two_sentence_checkpoint, write_video
from tests.support.command_line.running import run_main

GUIDE = (Path(__file__).parents[2] / "docs" / "outputs.md").read_text(encoding="utf-8")


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_video(tmp_path / "clip.mp4", FRAMES)
    monkeypatch.chdir(tmp_path)
    return two_sentence_checkpoint(tmp_path / "tiny")


@pytest.mark.filterwarnings("ignore")  # words that the network does not know; no OpenCV
def test_the_example_runs(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    segmenter = locater.load(tiny, "cpu")
    monkeypatch.setattr(segmenter, "track", partial(segmenter.track, anyway=True))
    monkeypatch.setattr(locater, "load", lambda _: segmenter, raising=False)
    exec(block, {"locater": locater})
    written = {path.name for path in Path("results").iterdir() if path.name != MARKER}
    assert written == {"overlay.mp4", "alpha", "coco_video.json", "images"}


def test_the_command_runs(tiny: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    (command,) = re.findall(r"^    locater (.+)$", GUIDE, re.MULTILINE)
    ran = run_main(monkeypatch, capfd, *shlex.split(command), "--checkpoint", tiny)
    assert ran.code == 0, ran.err
    assert {path.name for path in Path("results").iterdir() if path.name != MARKER} == {
        "overlay.mp4",
        "matte",
        "data.yaml",
        "labels",
        "images",
    }


def test_every_format_is_described() -> None:
    described = re.findall(r"^\| `([a-z-]+)` \|", GUIDE, re.MULTILINE)
    assert sorted(described) == sorted(FORMATS)
