"""Every library of an extra may be absent; then a command says in one sentence how to get it."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from locater.io.extras import how_to_install
from tests.support.command_line.running import ENVIRONMENT

BLOCKED = """
import sys
absent = sys.argv.pop(1)
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import locater.cli.app as cli
cli.main()
"""
COMMANDS = {
    "accelerate": ("train", "train", "tiny", "--data", "shapes", "--out", "run"),
    "lemminflect": ("contrast", "contrast", "roles", "a dog runs"),
}


@pytest.mark.parametrize("absent", COMMANDS)
def test_a_command_without_its_library_says_so_in_one_sentence(absent: str, tmp_path: Path) -> None:
    extra, *arguments = COMMANDS[absent]
    start = [sys.executable, "-c", BLOCKED, absent, *arguments]
    done = subprocess.run(start, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ") and done.stderr.count("\n") == 1
    assert absent in done.stderr and f"locater[{extra}]" in done.stderr
    assert not list(tmp_path.iterdir())


def test_every_library_of_every_extra_is_known() -> None:
    declared = [each for each in importlib.metadata.requires("locater") or [] if "extra ==" in each]
    assert len(declared) > 10
    assert how_to_install("accelerate.state") == (
        "This needs accelerate, which is not installed; run: pip install 'locater[train]'."
    )
    told = how_to_install("onnxruntime") or ""
    assert "'locater[cutout]'" in told and "'locater[export]'" in told
    assert how_to_install("h5py") is not None
    assert how_to_install("hypothesis") is how_to_install("nothing_of_ours") is None
