"""What a job does before and after Ray: earlier results, failures, tables, refusals."""

import csv
from pathlib import Path

import pytest

from locater.batch import run as run_module
from locater.batch.engine import Pool
from locater.batch.manifest import Named
from locater.batch.run import Job, opened_job, run_job
from locater.batch.work import VideoWork
from locater.errors import LocaterError
from tests.batch.conftest import NewWork
from tests.support.command_line.clips import DOG, FRAMES, OTHER, bad_video, two_sentence_checkpoint, write_video
from tests.support.command_line.running import Run, run_main


@pytest.fixture
def rows(tmp_path: Path) -> list[Named]:
    paths = [write_video(tmp_path / "clip.mp4", FRAMES), bad_video("text", tmp_path)]
    return [Named(name=path.stem, video=str(path), sentences=(DOG,)) for path in paths]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: run_main(monkeypatch, capfd, *arguments)


def done_here(job: Job, work: VideoWork) -> list[str]:
    """The job's rows in this process; the names of those that were left to do."""
    left = [row.name for row in job.left]
    job.outcomes.update({row.name: work.do(row) for row in job.left})
    return left


def statuses(folder: Path) -> dict[str, str]:
    with (folder / "summary.csv").open(newline="", encoding="utf-8") as file:
        return {row["name"]: row["status"] for row in csv.DictReader(file)}


def test_what_is_done_or_failed_is_left_alone_until_it_is_to_be_tried_again(
    new_work: NewWork, rows: list[Named], tmp_path: Path
) -> None:
    work, out = new_work(), tmp_path / "job"
    with opened_job(rows, work.settings, out) as job:
        assert done_here(job, work) == ["clip", "text"]
    assert job.told().startswith("1 videos segmented, 1 failed; 20 frames in ")
    assert statuses(out) == {"clip": "done", "text": "failed"}
    with opened_job(rows, work.settings, out) as job:
        assert job.left == [] and list(run_job(job, work.settings, Pool())) == []  # and no Ray is started
    assert job.told() == "0 videos segmented, 1 already done, 1 failed"
    assert statuses(out) == {"clip": "kept", "text": "failed"}
    write_video(Path(rows[1].video), FRAMES)
    with opened_job(rows, work.settings, out, retry_failed=True) as job:
        assert done_here(job, work) == ["text"]
    assert job.failed == 0 and "text" not in (out / "failed.csv").read_text("utf-8")


def test_a_stopped_job_tells_what_is_left(new_work: NewWork, rows: list[Named], tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), opened_job(rows, new_work().settings, tmp_path / "job"):
        raise KeyboardInterrupt
    assert statuses(tmp_path / "job") == {"clip": "left", "text": "left"}


def test_a_worker_that_died_after_the_end_did_not_make_it_an_earlier_result(
    new_work: NewWork, rows: list[Named], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = new_work()
    monkeypatch.setattr(run_module, "running", lambda *_: _Nothing())
    with opened_job(rows[:1], work.settings, tmp_path / "job") as job:
        work.do(rows[0])  # the one that died
        monkeypatch.setattr(run_module, "outcomes", lambda left, *_: (work.do(row) for row in left))
        assert [outcome.status for outcome in run_job(job, work.settings, Pool())] == ["done"]


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_results_of_other_sentences_are_replaced_only_when_told(
    new_work: NewWork, rows: list[Named], tmp_path: Path
) -> None:
    out = tmp_path / "job"
    with opened_job(rows[:1], new_work().settings, out) as job:
        done_here(job, new_work())
    other = [rows[0].model_copy(update={"sentences": (OTHER,)})]
    with pytest.raises(LocaterError, match="other sentences or settings; add --force"):
        opened_job(other, new_work().settings, out).__enter__()
    with opened_job(other, new_work(replaces=True).settings, out) as job:
        assert done_here(job, new_work(replaces=True)) == ["clip"]
    assert job.outcomes["clip"].status == "done"


def test_a_folder_of_somebody_elses_and_two_jobs_in_one_are_refused(
    new_work: NewWork, rows: list[Named], tmp_path: Path
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis.txt").write_text("mine")
    with pytest.raises(LocaterError, match="files that are not ours"):
        opened_job(rows, new_work().settings, tmp_path / "theirs").__enter__()
    with (
        opened_job(rows, new_work().settings, tmp_path / "job"),
        pytest.raises(LocaterError, match="Another job is at work"),
    ):
        opened_job(rows, new_work().settings, tmp_path / "job").__enter__()


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("video,sentence\nclip.mp4,\n", (), "list.csv, line 2: sentences"),
        ("video,sentence\ngopher://a/b.mp4,the dog\n", (), "gopher"),
        ("video,sentence\nclip.mp4,the dog\n", ("--format", "gif"), "There is no output format 'gif'"),
        ("video,sentence\nclip.mp4,the dog\n", ("--checkpoint", "none"), "There is no checkpoint 'none'"),
    ],
)
def test_the_command_refuses_in_one_sentence_before_any_work(
    text: str, options: tuple[str, ...], said: str, run: Run, tmp_path: Path
) -> None:
    checkpoint = two_sentence_checkpoint(tmp_path / "tiny")
    (tmp_path / "list.csv").write_text(text)
    usual = ("--checkpoint", checkpoint, "--out", tmp_path / "out")
    assert said in run("batch", tmp_path / "list.csv", *usual, *options).error
    assert not (tmp_path / "out").exists()
