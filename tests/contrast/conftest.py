"""What both tests of the review are given."""

import shutil
from pathlib import Path

import pytest

from tests.support.pages.browser import browser  # noqa: F401 (a fixture)
from tests.support.pages.reviewing import make_set


@pytest.fixture(scope="session")
def built_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set with pairs in both layouts, left as it is by every test."""
    return make_set(tmp_path_factory.mktemp("review") / "set", subsets=("S", "T"))


@pytest.fixture
def folder(built_set: Path, tmp_path: Path) -> Path:
    """A copy to decide on."""
    return Path(shutil.copytree(built_set, tmp_path / "set"))
