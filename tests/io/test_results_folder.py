"""Only folders that are new, empty or ours are written, and nothing of a person's is lost."""

import json
from pathlib import Path

import pytest

from locater.errors import LocaterError
from locater.io import exchange
from locater.io.results_folder import MARKER, check_results_folder, claim_folder, results_folder
from tests.support.command_line.running import snapshot


def write(target: Path, force: bool = False, **files: str) -> None:
    with results_folder(target, "locater test", force=force) as partial:
        for name, text in files.items():
            (partial / name).mkdir()
            (partial / name / "0.png").write_text(text)


def content(target: Path) -> dict[str, bytes]:
    return {name: data for name, data in snapshot(target).items() if data is not None and name != MARKER}


def test_a_new_and_an_empty_folder_are_taken_and_marked(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / ".DS_Store").write_text("")  # macOS leaves one wherever somebody looked
    for name in ("new/deep", "empty"):
        write(tmp_path / name, masks="1")
        assert json.loads((tmp_path / name / MARKER).read_text()) == {"made_by": "locater test", "entries": ["masks"]}
        assert (tmp_path / name / "masks" / "0.png").read_text() == "1"
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("theirs", ["notes.txt", "masks/1.png", ".git/config"])
def test_somebody_elses_folder_is_refused_with_and_without_force(tmp_path: Path, theirs: str) -> None:
    (tmp_path / "out" / theirs).parent.mkdir(parents=True)
    (tmp_path / "out" / theirs).write_text("mine")
    before = snapshot(tmp_path)
    for force in (False, True):
        with pytest.raises(LocaterError, match="holds files that are not ours, such as"):
            write(tmp_path / "out", force, masks="1")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("has_exchange", [True, False])
def test_earlier_results_are_replaced_only_by_force_and_beside_them_nothing(
    tmp_path: Path, has_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_exchange:
        monkeypatch.setattr(exchange, "exchanged", lambda *_: False)
    out = tmp_path / "masks"  # as the README has it: the folder is called as one of its entries
    write(out, masks="old", overlay="old")
    with pytest.raises(LocaterError, match="holds earlier results; add --force"):
        write(out, masks="new")
    (out / "notes").mkdir()
    (out / "notes" / "a.txt").write_text("mine")
    (out / "link").symlink_to("notes")
    out.chmod(0o750)
    write(out, force=True, masks="new")
    assert content(out) == {"masks/0.png": b"new", "notes/a.txt": b"mine"}
    assert (out / "link").readlink() == Path("notes")
    assert out.stat().st_mode & 0o777 == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["masks"]


def test_a_persons_own_entry_of_the_same_name_stops_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, rle="old")
    (out / "masks").mkdir()
    (out / "masks" / "mine.png").write_text("mine")
    before = snapshot(tmp_path)
    with pytest.raises(LocaterError, match="masks is not ours and would be replaced"):
        write(out, force=True, masks="new")
    assert snapshot(tmp_path) == before


def test_the_folder_one_works_in_stays_the_same_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell there would otherwise stand in a folder that is gone."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    number = Path().stat().st_ino
    write(Path(), masks="old", overlay="old")
    (tmp_path / "here" / "notes.txt").write_text("mine")
    write(Path(), force=True, masks="new")
    assert Path().stat().st_ino == number
    assert content(tmp_path / "here") == {"masks/0.png": b"new", "notes.txt": b"mine"}
    assert json.loads(Path(MARKER).read_text())["entries"] == ["masks"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    write(tmp_path / "out", masks="old")
    write(tmp_path / "out", force=True, masks="new")
    assert (tmp_path / "out").is_symlink()
    assert content(tmp_path / "disk") == {"masks/0.png": b"new"}


def test_a_folder_known_by_its_files_needs_no_marker(tmp_path: Path) -> None:
    def save(text: str) -> None:
        with results_folder(tmp_path / "out", "x", force=True, known_by=("a", "b")) as partial:
            (partial / "a").write_text(text)
            (partial / "b").write_text(text)

    save("old")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    save("new")
    assert content(tmp_path / "out") == {"a": b"new", "b": b"new", "notes.txt": b"mine"}
    with pytest.raises(LocaterError, match="earlier results"):
        check_results_folder(tmp_path / "out", force=False, known_by=("a", "b"))
    (tmp_path / "out" / "b").unlink()
    with pytest.raises(LocaterError, match="not ours"):
        save("newer")


def test_a_run_claims_an_empty_folder_and_no_other(tmp_path: Path) -> None:
    claim_folder(tmp_path / "run" / "run.json", {"seed": 1}, "another run")
    (tmp_path / "run" / "answers").write_text("1")
    claim_folder(tmp_path / "run" / "run.json", {"seed": 1}, "another run")
    with pytest.raises(LocaterError, match=r"holds another run \(another seed\)"):
        claim_folder(tmp_path / "run" / "run.json", {"seed": 2}, "another run")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "report.md").write_text("mine")
    with pytest.raises(LocaterError, match=r"not ours, such as report\.md"):
        claim_folder(tmp_path / "full" / "run.json", {}, "another run")
