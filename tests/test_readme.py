"""What the README shows works as shown."""

import re
import shlex
import sys
from itertools import islice
from pathlib import Path

import pytest
from typer.main import get_command

from locater.cli import app as cli
from locater.inference.demo import render_clip
from locater.model.checkpoint import from_pretrained, shipped_checkpoints
from locater.video.mp4 import Mp4File
from locater.video.reader import open_source

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^    (locater [^\n]+)", README, re.MULTILINE)


@pytest.fixture
def beside_a_clip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    render_clip(tmp_path / "whole.mp4")
    with Mp4File(tmp_path / "clip.mp4", 12.0) as file:  # as much of it as the examples ask for
        for frame in islice(open_source(tmp_path / "whole.mp4").frames(), 14):
            file.write(frame.pixels, frame.timestamp)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("beside_a_clip")
@pytest.mark.slow
def test_the_python_examples_run() -> None:
    assert len(PYTHON_BLOCKS) == 2
    names: dict[str, object] = {}
    for block in PYTHON_BLOCKS:
        names["my_camera"] = []  # nothing arrives: the example's own camera is the reader's
        exec(block, names)
    assert getattr(names["mask"], "shape", None) == (320, 320)


@pytest.mark.slow
def test_the_command_examples_run(beside_a_clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert COMMANDS
    for command in COMMANDS:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0, command
    made = {path.name for path in (beside_a_clip / "masks").iterdir() if path.name[0] != "."}
    assert made == {"overlay.mp4", "masks", "masks.json"}


def test_every_command_in_the_table_exists() -> None:
    known = get_command(cli.app)
    names = set(getattr(known, "commands", {}))
    mentioned = set(re.findall(r"`locater (\w[\w-]*)", README))
    assert mentioned and mentioned <= names


def test_every_file_the_readme_links_to_exists() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links and all((ROOT / link).exists() for link in links)


MOST_BYTES = {"shapes": 8e6, "default": 40e6}


@pytest.mark.parametrize("name", shipped_checkpoints())
def test_shipped_checkpoints_load_and_are_small(name: str) -> None:
    model = from_pretrained(name)
    assert model.text.unknown(["the", "red", "star", "left"]) == []
    folder = ROOT / "src" / "locater" / "checkpoints" / name
    assert (folder / "model.safetensors").stat().st_size < MOST_BYTES[name]
    assert "Limits" in (folder / "README.md").read_text(encoding="utf-8")
