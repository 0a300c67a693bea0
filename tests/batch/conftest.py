"""A tiny checkpoint, and work in this process, without Ray."""

from collections.abc import Callable
from pathlib import Path

import pytest

from locater.batch.job_folder import JobFolder
from locater.batch.settings import Settings, checkpoint_digest
from locater.batch.work import VideoWork
from locater.inference.segmenter import Segmenter, load
from tests.support.command_line.clips import two_sentence_checkpoint

NewWork = Callable[..., VideoWork]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read alone."""
    return two_sentence_checkpoint(tmp_path_factory.mktemp("checkpoint") / "tiny")


@pytest.fixture(scope="session")
def segmenter(checkpoint: Path) -> Segmenter:
    return load(checkpoint)


@pytest.fixture
def new_work(checkpoint: Path, segmenter: Segmenter, tmp_path: Path) -> NewWork:
    """Work on rows in the folder `job`, with the settings given."""
    usual = {
        "checkpoint": str(checkpoint),
        "weights": checkpoint_digest(str(checkpoint)),
        "precision": "float32",
        "threshold": None,
        "formats": ("overlay", "png", "rle"),
        "anyway": False,
    }

    def make(**given: object) -> VideoWork:
        return VideoWork(JobFolder(tmp_path / "job"), Settings.model_validate(usual | given), lambda: segmenter)

    return make
