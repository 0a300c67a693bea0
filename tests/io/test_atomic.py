"""Files and folders are whole or absent, whatever goes wrong."""

import errno
import stat
from pathlib import Path

import pytest

from locater.errors import LocaterError
from locater.io.atomic import atomic_entries, atomic_path


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_file_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down" / "a.txt"
    with atomic_path(target) as partial:
        partial.write_text("new")
        assert not target.exists()
    assert target.read_text() == "new"
    with atomic_path(target) as partial:
        partial.write_text("newer")
        assert target.read_text() == "new"
    assert target.read_text() == "newer"
    assert names(target.parent) == ["a.txt"]


def test_file_keeps_its_old_content_on_failure(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="stop"), atomic_path(target) as partial:
        partial.write_text("half")
        raise RuntimeError("stop")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("make", [atomic_path, atomic_entries])
def test_system_errors_become_one_sentence(tmp_path: Path, make: object) -> None:
    assert callable(make)
    with pytest.raises(LocaterError, match=r"Cannot write .*: no space left on device; choose"), make(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert names(tmp_path) == []


def test_target_under_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(LocaterError, match="Cannot write"), atomic_path(tmp_path / "file" / "a"):
        pass
    with pytest.raises(LocaterError, match="Cannot write"), atomic_entries(tmp_path / "file") as folder:
        (folder / "a").write_text("x")
    assert names(tmp_path) == ["file"]


def test_a_file_never_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LocaterError, match="Cannot write"), atomic_path(tmp_path / "a"):
        pass
    assert names(tmp_path) == []


def test_reading_errors_inside_are_not_blamed_on_writing(tmp_path: Path) -> None:
    """A LocaterError about the input passes through as it is."""
    with pytest.raises(LocaterError, match="no such video"), atomic_entries(tmp_path / "out"):
        raise LocaterError("There is no such video.")


def test_entries_replace_their_namesakes_and_leave_the_rest(tmp_path: Path) -> None:
    target = tmp_path / "out"
    (target / "masks").mkdir(parents=True)
    (target / "masks" / "old.png").write_text("old")
    (target / "notes.txt").write_text("mine")
    (target / "a.json").write_text("old")
    with atomic_entries(target) as folder:
        (folder / "masks").mkdir()
        (folder / "masks" / "new.png").write_text("new")
        (folder / "a.json").write_text("new")
    assert names(target) == ["a.json", "masks", "masks/new.png", "notes.txt"]
    assert (target / "a.json").read_text() == "new"
    assert (target / "notes.txt").read_text() == "mine"
    assert names(tmp_path)[0] == "out"
    assert not list(tmp_path.glob(".*"))


def test_a_folder_may_take_a_files_place(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "masks").write_text("a file")
    with atomic_entries(target) as folder:
        (folder / "masks").mkdir()
        (folder / "masks" / "1.png").write_text("new")
    assert names(target) == ["masks", "masks/1.png"]


def test_entries_fail_together(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), atomic_entries(target) as folder:
        (folder / "a").write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_results_are_readable_by_others(tmp_path: Path) -> None:
    """mkdtemp's folder is private; what is moved out of it must not be."""
    with atomic_entries(tmp_path / "out") as folder:
        (folder / "masks").mkdir()
        (folder / "a.json").write_text("x")
    (tmp_path / "plain").mkdir()
    expected = stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == expected
    assert stat.S_IMODE((tmp_path / "out" / "masks").stat().st_mode) == expected
