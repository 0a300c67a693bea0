"""What starts without torch, and the commands about networks."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import locater
from locater.config import preset
from locater.presets import preset_names
from tests.support.command_line.clips import FRAMES, HEIGHT, WIDTH
from tests.support.command_line.running import Run, run_process


def test_help_is_instant_and_imports_no_torch() -> None:
    def seconds() -> float:
        """Of a core: the clock would also count what else the machine does."""
        before = os.times()
        done = subprocess.run([sys.executable, "-m", "locater", "--help"], capture_output=True, text=True, check=True)
        assert "segment" in done.stdout and "presets" in done.stdout
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(3)) < 0.5
    traced = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "locater", "--help"], capture_output=True, text=True, check=True
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in traced.stderr.splitlines()}
    assert "locater.cli" in imported
    assert not imported & {"torch", "transformers", "numpy", "av", "locater.inference"}


def test_the_version_and_completion(run: Run) -> None:
    ran = run("--version")
    assert (ran.code, ran.out, ran.err) == (0, f"locater {locater.__version__}\n", "")
    assert locater.__version__ == importlib.metadata.version("locater")
    asked = {"_LOCATER_COMPLETE": "complete_bash", "COMP_WORDS": "locater seg", "COMP_CWORD": "1"}  # as bash asks
    start = [sys.executable, "-c", "import sys; sys.argv = ['locater']; from locater.cli.app import main; main()"]
    done = subprocess.run(start, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "segment"


@pytest.mark.parametrize(("name", "own"), [("GOMP_SPINCOUNT", "10000"), ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")])
def test_what_libraries_are_told_is_said_before_they_are_loaded(name: str, own: str) -> None:
    """Threads that wait leave their cores to others, and kernels take less memory; whoever said so decides."""
    program = (
        "import sys, atexit, os\n"
        f"atexit.register(lambda: print(os.environ['{name}'], 'torch' in sys.modules))\n"
        "sys.argv = ['locater', '--version']\n"
        "from locater.cli.process.start import main\n"
        "main()"
    )
    without = {key: value for key, value in os.environ.items() if key != name}
    for said, expected in (({}, own), ({name: "7"}, "7")):
        done = subprocess.run(
            [sys.executable, "-c", program], env=without | said, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1] == f"{expected} False"


@pytest.mark.parametrize("name", ["segment", "info", "presets", "init", "train"])
def test_every_command_explains_itself(run: Run, name: str) -> None:
    ran = run(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert "Usage" in ran.out


def test_presets_are_listed_and_printed_whole(run: Run) -> None:
    listed = run_process("presets")
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines()] == preset_names()
    printed = run("presets", "paper")
    assert (printed.code, printed.err) == (0, "")
    assert yaml.safe_load(printed.out) == json.loads(preset("paper").model_dump_json())
    assert run("presets", "papier").error.startswith(
        "Error: There is no preset 'papier'; the presets are authors, default, paper,"
    )


def test_init_then_info(run: Run, video: Path, tmp_path: Path) -> None:
    made = run_process("init", "tiny", "--out", tmp_path / "new" / "tiny")
    assert (made.code, made.err) == (0, "")
    assert str(tmp_path / "new" / "tiny") in made.out
    assert sorted(path.name for path in (tmp_path / "new" / "tiny").iterdir()) == [
        "README.md",
        "config.json",
        "model.safetensors",
    ]
    about = run("info", tmp_path / "new" / "tiny")
    assert (about.code, about.err) == (0, "")
    assert "million" in about.out and "64 x 64 pixels in 8 x 8 patches" in about.out
    about = run("info", video)
    assert (about.code, about.err) == (0, "")
    assert "clip.mp4" in about.out and f"{WIDTH} x {HEIGHT}" in about.out and str(FRAMES) in about.out
