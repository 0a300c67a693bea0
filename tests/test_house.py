"""The house rules that a machine can check; import-linter checks the layers."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TREES = ("src", "lite", "tests", "tools", "experiments")
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 50
MOST_MODULES_OF_A_FOLDER = 15
ROOMS = {".ci", ".github", "dev", "docs", "experiments", "lite", "src", "tests", "tools"}
NAMES_THAT_SAY_NOTHING = {"utils", "util", "misc", "helpers", "helper", "common"}
LOADS_A_WHEELS_OWN_CODE = {"tests/model/visual/test_refiner.py"}


def modules(*trees: str) -> list[Path]:
    return [path for tree in trees for path in sorted((ROOT / tree).rglob("*.py"))]


def names(found: Iterator[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in found]


def test_the_trees_are_there() -> None:
    assert all(modules(tree) for tree in TREES)  # else every other test here passes on nothing


def test_no_stray_folder_is_kept() -> None:
    """What a command wrote by mistake, as into a folder called `--help`, is not the project's."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    kept = {path.split("/")[0] for path in listed.stdout.split("\0") if "/" in path}
    if not kept:
        pytest.skip("This copy is not a clone.")
    assert kept <= ROOMS


def test_files_are_short() -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in modules(*TREES)}
    assert names(path for path, count in lines.items() if count > MOST_LINES_OF_A_FILE) == []


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in modules(*TREES)
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


def test_folders_are_small() -> None:
    folders = {path.parent for path in modules(*TREES)}
    counts = {folder: sum(path.name != "__init__.py" for path in folder.glob("*.py")) for folder in folders}
    assert names(folder for folder, count in counts.items() if count > MOST_MODULES_OF_A_FOLDER) == []


def test_every_folder_of_a_package_says_what_it_holds() -> None:
    trees = ("src", "lite/src", "tools", "experiments", "tests/support")
    packages = {path.parent for path in modules(*trees)} - {ROOT / "src", ROOT / "lite/src"}
    assert names(folder for folder in sorted(packages) if not (folder / "__init__.py").exists()) == []
    opened = [path for path in modules(*TREES) if path.name == "__init__.py"]
    assert names(path for path in opened if not ast.get_docstring(ast.parse(path.read_text("utf-8")))) == []


def test_every_module_has_a_name_that_says_something() -> None:
    everything = (path for tree in TREES for path in (ROOT / tree).rglob("*"))
    assert names(path for path in everything if path.stem in NAMES_THAT_SAY_NOTHING) == []


@pytest.mark.parametrize(
    ("tree", "said", "allowed"),
    [("tests", "sys." + "path.", LOADS_A_WHEELS_OWN_CODE), ("tests/support", "Path(" + "__file__)", set[str]())],
)
def test_tests_find_code_and_files_without_tricks(tree: str, said: str, allowed: set[str]) -> None:
    found = names(path for path in modules(tree) if said in path.read_text("utf-8"))
    assert set(found) <= allowed
