"""What the README shows works as shown."""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from locater.cli import app as cli
from locater.model.checkpoint import from_pretrained, shipped_checkpoints

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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
