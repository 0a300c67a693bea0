"""What several tests of evaluation are given."""

from pathlib import Path

import pytest

from tests.support.evaluating.command import tiny_checkpoint


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained network of the tiny preset."""
    return tiny_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")
