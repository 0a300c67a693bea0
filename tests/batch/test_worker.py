"""The actor without Ray: rows and outcomes as JSON, and what ends a job instead of failing every video."""

from pathlib import Path

import pytest

from locater.batch.manifest import Named
from locater.batch.records import Outcome
from locater.batch.settings import checkpoint_digest
from locater.batch.worker import OUTCOME, ROW, Worker
from tests.batch.conftest import NewWork
from tests.support.command_line.clips import DOG, FRAMES, bad_video, write_video


@pytest.fixture
def rows(tmp_path: Path) -> list[str]:
    video, bad = write_video(tmp_path / "clip.mp4", FRAMES), bad_video("text", tmp_path)
    return [Named(name=path.stem, video=str(path), sentences=(DOG,)).model_dump_json() for path in (video, bad)]


def answers(worker: Worker, rows: list[str]) -> list[Outcome]:
    return [Outcome.model_validate_json(told) for told in worker({ROW: rows})[OUTCOME]]


def test_a_worker_answers_for_every_row(new_work: NewWork, rows: list[str], tmp_path: Path) -> None:
    worker = Worker(new_work().settings.model_dump_json(), str(tmp_path / "job"), threads=1)
    assert [answer.status for answer in answers(worker, rows)] == ["done", "failed"]
    assert [answer.status for answer in answers(worker, rows)] == ["kept", "failed"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threshold": 0.5}, "has no calibrated score"),
        ({"precision": "float16"}, "float16 needs a GPU"),
        ({"weights": "another"}, "is another one on a worker's machine"),
    ],
)
def test_what_is_wrong_for_every_video_stops_the_job(
    given: dict[str, object], said: str, new_work: NewWork, rows: list[str], tmp_path: Path
) -> None:
    worker = Worker(new_work(**given).settings.model_dump_json(), str(tmp_path / "job"), threads=1)
    (answer,) = answers(worker, rows[:1])
    assert answer.status == "stopped" and said in answer.reason
    assert not (tmp_path / "job" / "clip").exists()


def test_a_checkpoints_card_is_no_part_of_it(checkpoint: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((checkpoint / name).read_bytes())
    assert checkpoint_digest(str(tmp_path)) == checkpoint_digest(str(checkpoint))
    (tmp_path / "config.json").write_bytes(b"{}")
    assert checkpoint_digest(str(tmp_path)) != checkpoint_digest(str(checkpoint))
