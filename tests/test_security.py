"""SECURITY.md says of minimum versions what pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]


def minimums() -> dict[str, set[str]]:
    """Every package's minimum, wherever it is asked for."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = asked["project"]["optional-dependencies"].values()
    lines = [
        *asked["build-system"]["requires"],
        *asked["project"]["dependencies"],
        *(each for some in extras for each in some),
    ]
    found: dict[str, set[str]] = {}
    for requirement in map(Requirement, lines):
        least = {each.version for each in requirement.specifier if each.operator == ">="}
        found.setdefault(requirement.name, set()).update(least)
    return found


def test_each_minimum_with_an_advisory_is_the_one_that_is_asked_for() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) >= 8
    asked = minimums()
    for package, least, answers in rows:
        assert asked[package] == {least}, package
        mended = [Version(each) for each in re.findall(r"\(([\d.]+)\)", answers)]
        assert mended and max(mended) <= Version(least), package
        assert re.search(r"CVE-\d{4}-\d{4,}", answers), package
