"""One video at a time, in this process and in ones that are killed: what is done, kept, resumed, given up."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from locater.batch import parts
from locater.batch.manifest import Named
from locater.batch.records import Outcome
from locater.batch.work import VideoWork
from locater.inference.chunk_length import CHUNK_FRAMES
from locater.inference.segmenter import Segmenter
from locater.inference.writing import Writing, write_results
from locater.records import FrameResult, VideoState
from locater.video.reader import open_source
from tests.batch.conftest import NewWork
from tests.support.command_line.clips import DOG, FRAMES, OTHER, bad_video, write_video
from tests.support.command_line.running import snapshot

OURS = (".batch.json", ".locater.json")  # beside what `locater segment` writes


@pytest.fixture
def row(tmp_path: Path) -> Named:
    video = write_video(tmp_path / "clip.mp4", FRAMES)
    return Named(name="clip", video=str(video), sentences=(DOG, OTHER))


def files(folder: Path) -> dict[str, bytes | None]:
    """All that is written, byte for byte."""
    return {name: content for name, content in snapshot(folder).items() if name not in OURS}


def segmented(segmenter: Segmenter, row: Named, folder: Path) -> dict[str, bytes | None]:
    """What one process writes without interruption."""
    folder.mkdir()
    write_results(segmenter, open_source(row.video), row.sentences, Writing(("overlay", "png", "rle")), folder)
    return files(folder)


def in_a_killed_process(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def killed_after(frames: int, work: VideoWork, row: Named, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work on a row in a process that dies when so many frames of it are segmented."""
    own, count = parts.SavedVideo.take, 0

    def take(self: parts.SavedVideo, result: FrameResult) -> None:
        nonlocal count
        own(self, result)
        count += 1
        if count == frames:
            os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(parts.SavedVideo, "take", take)
        in_a_killed_process(lambda: work.do(row))


def test_results_are_those_of_one_process_and_are_not_made_again(
    new_work: NewWork, row: Named, segmenter: Segmenter, tmp_path: Path
) -> None:
    work = new_work()
    done = work.do(row)
    assert done.status == "done" and done.record is not None and done.record.frames == FRAMES
    assert files(tmp_path / "job" / "clip") == segmented(segmenter, row, tmp_path / "alone")
    before = snapshot(tmp_path / "job")
    assert work.do(row) == Outcome(name="clip", status="kept", record=done.record)
    assert snapshot(tmp_path / "job") == before


def test_a_copied_and_a_moved_file_are_known_by_their_content(new_work: NewWork, row: Named, tmp_path: Path) -> None:
    work = new_work()
    work.do(row)
    masks = (tmp_path / "job" / "clip" / "masks.json").stat()
    moved = row.model_copy(update={"video": str(tmp_path / "elsewhere.mp4")})
    shutil.move(row.video, moved.video)
    os.utime(moved.video, (1, 1))
    assert [work.do(moved).status for _ in range(2)] == ["kept", "kept"]
    assert (tmp_path / "job" / "clip" / "masks.json").stat() == masks


def test_another_video_of_the_same_name_replaces_results_only_when_told(
    new_work: NewWork, row: Named, tmp_path: Path
) -> None:
    new_work().do(row)
    before = snapshot(tmp_path / "job" / "clip")
    write_video(Path(row.video), FRAMES + 4)
    refused = new_work().do(row)
    assert refused.status == "failed" and "add --force" in refused.reason
    assert snapshot(tmp_path / "job" / "clip") == before
    done = new_work(replaces=True).do(row)
    assert done.record is not None and done.record.frames == FRAMES + 4


@pytest.mark.parametrize("kills", [(3,), (9, 5)])
def test_a_killed_video_goes_on_from_what_was_saved_to_the_same_bytes(
    kills: tuple[int, ...],
    new_work: NewWork,
    row: Named,
    segmenter: Segmenter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = new_work(save_every=0.0)
    for frames in kills:
        killed_after(frames, work, row, monkeypatch)
    assert not (tmp_path / "job" / "clip").exists()
    own, segmented_now = parts.SavedVideo.take, list[object]()

    def take(self: parts.SavedVideo, result: FrameResult) -> None:
        segmented_now.append(result)
        own(self, result)

    monkeypatch.setattr(parts.SavedVideo, "take", take)
    done = work.do(row)
    assert done.record is not None
    assert (done.record.frames, done.record.resumed_from) == (FRAMES, sum(kills))
    assert len(segmented_now) == FRAMES - sum(kills)
    assert files(tmp_path / "job" / "clip") == segmented(segmenter, row, tmp_path / "alone")
    assert not list((tmp_path / "job" / ".batch" / "work").iterdir())
    assert not list((tmp_path / "job").glob(".clip.*"))  # what the killed ones had half-written


def test_a_worker_killed_while_the_whole_video_is_looked_at_loses_no_look(
    new_work: NewWork, row: Named, segmenter: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_video(Path(row.video), 90)
    own, looks = parts.SavedVideo.take_look, 0

    def take_look(self: parts.SavedVideo, state: VideoState) -> None:
        nonlocal looks
        own(self, state)
        looks += 1
        if looks == 1 and os.getpid() != this:
            os.kill(os.getpid(), signal.SIGKILL)

    this, work = os.getpid(), new_work(save_every=0.0, most_tries=1)
    monkeypatch.setattr(parts.SavedVideo, "take_look", take_look)
    for _ in range(2):  # and again, from the next place
        in_a_killed_process(lambda: work.do(row))
    done = work.do(row)
    assert done.status == "done" and looks == -(-90 // (CHUNK_FRAMES * segmenter.config.memory.interval)) - 2
    assert files(tmp_path / "job" / "clip") == segmented(segmenter, row, tmp_path / "alone")


def test_a_video_that_changed_since_it_was_saved_begins_anew(
    new_work: NewWork, row: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = new_work(save_every=0.0)
    killed_after(3, work, row, monkeypatch)
    write_video(Path(row.video), FRAMES + 1)
    done = work.do(row)
    assert done.record is not None and (done.record.frames, done.record.resumed_from) == (FRAMES + 1, 0)


def test_a_video_at_whose_place_workers_die_is_given_up(
    new_work: NewWork, row: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = new_work(save_every=60.0, most_tries=2)
    for _ in range(2):
        killed_after(3, work, row, monkeypatch)
    given_up = work.do(row)
    assert given_up.status == "failed" and given_up.tries == 2
    assert "The worker died 2 times on it, each time after frame 0" in given_up.reason


def test_a_video_that_gets_on_between_deaths_is_not_given_up(
    new_work: NewWork, row: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = new_work(save_every=0.0, most_tries=1)
    for _ in range(3):
        killed_after(2, work, row, monkeypatch)
    assert work.do(row).status == "done"


@pytest.mark.parametrize("kind", ["text", "empty", "frameless", "sound", "cut_behind_index", "missing"])
def test_a_bad_video_is_a_failure_with_its_reason(kind: str, new_work: NewWork, tmp_path: Path) -> None:
    row = Named(name=kind, video=str(bad_video(kind, tmp_path)), sentences=(DOG,))
    work = new_work()
    failed = work.do(row)
    assert failed.status == "failed" and str(row.video) in failed.reason
    assert not (tmp_path / "job" / kind).exists()
    kept = work.job.failure(kind)
    assert kept is not None and kept.reason == failed.reason


def test_a_sentence_that_is_not_understood_and_a_broken_decoder_are_failures_too(
    new_work: NewWork, row: Named, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = new_work().do(row.model_copy(update={"sentences": ("the horse",)}))
    assert failed.status == "failed" and "horse" in failed.reason
    assert new_work(anyway=True).do(row.model_copy(update={"sentences": ("the horse",)})).status == "done"

    def broken(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("locater.batch.work.open_source", broken)
    assert new_work().do(row.model_copy(update={"name": "other"})).reason == "MemoryError: no room"
