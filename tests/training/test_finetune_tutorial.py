"""docs/finetune.md, followed to the letter; on an untrained network of a few thousand weights, for the sake of time."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support.command_line.running import run_main
from tests.support.evaluation_command import tiny_checkpoint

TUTORIAL = (Path(__file__).parents[2] / "docs" / "finetune.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", TUTORIAL, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TUTORIAL, re.DOTALL) for line in block.splitlines()]
# What makes it quick, and nothing else.
QUICKER = {"finetune": ["--start", "tiny", "--set", "training.steps=2"]}


@pytest.mark.slow
def test_a_newcomer_can_follow_the_tutorial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny_checkpoint(tmp_path / "tiny")
    (making,) = PYTHON
    exec(making, {})
    asked = [shlex.split(command) for command in COMMANDS]
    assert [words[:2] for words in asked] == [
        ["locater", "data"], ["locater", "data"], ["locater", "finetune"], ["locater", "segment"]
    ]  # fmt: skip
    for words in asked:
        ran = run_main(monkeypatch, capfd, *words[1:], *QUICKER.get(words[1], []))
        assert ran.code == 0, (words, ran.err)
    promised = re.findall(r"`(tuned/[\w./]+)`", TUTORIAL)
    assert len(promised) >= 5 and [name for name in promised if not Path(name).exists()] == []
    assert Path("sheet.png").exists() and Path("masks").is_dir()
