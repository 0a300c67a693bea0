"""Submissions from write to check to score, and every way in which a zip can be wrong."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from locater.errors import LocaterError
from locater.evaluation.external.score import score
from locater.evaluation.external.submission import binary_png, find_protocol, palette_png
from locater.evaluation.external.submission_check import Expected, check_submission, read_expected
from tests.support import made_benchmarks
from tests.support.evaluating.command import run


@pytest.mark.parametrize("name", ["refer-youtube-vos", "mevis"])
def test_written_checked_and_scored_alike(
    name: str, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root, zipped, out = tmp_path / "root", tmp_path / "hand_in.zip", tmp_path / "out"
    meta = {"refer-youtube-vos": made_benchmarks.refer_youtube_vos, "mevis": made_benchmarks.mevis}[name](root)
    words = ["evaluate", checkpoint, name, root, "--out", out, "--device", "cpu", "--submission", zipped]
    code, _, err = run(monkeypatch, capfd, *words)
    assert code == 0, err
    assert (b"Annotations/aa/0/00000.png" in zipped.read_bytes()) == (name == "refer-youtube-vos")
    frames = meta.parents[2] / "valid" / "JPEGImages" if name != "mevis" else meta.parent / "JPEGImages"
    checking = ["--protocol", name, "--expressions", meta, "--frames", frames]
    code, text, err = run(monkeypatch, capfd, "submission", "check", zipped, *checking)
    assert code == 0 and "complete and well formed" in text, text

    ours = json.loads((out / "results.json").read_text())
    judged = tmp_path / "judged.json"
    code, text, err = run(monkeypatch, capfd, "score", zipped, root, "--protocol", name, "--out", judged)
    assert code == 0 and "J&F" in text, err
    theirs = json.loads(judged.read_text())
    for each in ("j", "f", "j&f", "oiou", "miou", "p@0.5", "presence_accuracy", "samples", "frames"):
        assert theirs["scores"][each] == ours["scores"][each]
    if name == "refer-youtube-vos":
        assert (
            ours["published"]["MTTR (CVPR22)"] == {"J&F": 55.3, "J": 54.0, "F": 56.6}
            and "MTTR" in (out / "results.md").read_text()
        )


def test_ref_davis17_from_sentences_to_four_scores(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root, zipped, out = tmp_path / "root", tmp_path / "hand_in.zip", tmp_path / "out"
    made_benchmarks.ref_davis17(root)
    words = ["evaluate", checkpoint, "ref-davis17", root, "--out", out, "--device", "cpu", "--submission", zipped]
    code, _, err = run(monkeypatch, capfd, *words)
    assert code == 0, err
    code, text, _ = run(monkeypatch, capfd, "submission", "check", zipped, "--protocol", "ref_davis17")
    assert code == 0, text
    ours = json.loads((out / "results.json").read_text())["annotators"]
    theirs = score(zipped, root, "ref_davis17").results["annotators"]
    assert set(ours) == {"annot1", "annot1_full_video", "annot2", "annot2_full_video", "mean"}
    assert ours["mean"] == theirs["mean"]
    assert ours["annot2"] == theirs["anno_2"] and ours["annot2"]["fixed"]["objects"] == 4


# ---- What a zip can have ---------------------------------------------------------------------------------------------

MASK = binary_png(np.eye(48, 72, dtype=np.bool_))


def picture(array: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> bytes:
    content = io.BytesIO()
    Image.fromarray(array).save(content, "PNG")
    return content.getvalue()


def zip_of(path: Path, entries: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def complete(root: str = "Annotations/") -> dict[str, bytes]:
    return {
        f"{root}{video}/{number}/{frame}.png": MASK
        for video in made_benchmarks.VIDEOS
        for number in "01"
        for frame in made_benchmarks.frame_names()
    }


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    root = tmp_path_factory.mktemp("refer")
    meta = made_benchmarks.refer_youtube_vos(root)
    return read_expected(meta, None, root / "valid" / "JPEGImages")


def problems(path: Path, expected: Expected, protocol: str = "refer_youtube_vos") -> list[str]:
    return check_submission(path, find_protocol(protocol), expected)


def test_a_complete_zip_has_no_problems(tmp_path: Path, expected: Expected) -> None:
    assert problems(zip_of(tmp_path / "a.zip", complete()), expected) == []
    assert problems(zip_of(tmp_path / "b.zip", complete(root="")), expected, "mevis") == []


FIRST = "Annotations/aa/0/00000.png"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({FIRST: None}, f"{FIRST}: is missing."),
        ({"Annotations/aa/0/00001.png": MASK}, "Annotations/aa/0/00001.png: is not asked for."),
        ({"Annotations/aa/7/00000.png": MASK}, "Annotations/aa/7: is not asked for."),
        ({FIRST: picture(np.zeros((48, 70), np.uint8))}, f"{FIRST}: is 70 x 48, the video's frames are 72 x 48."),
        (
            {FIRST: picture(np.full((48, 72), 7, np.uint8))},
            f"{FIRST}: holds the value 7; expected are 0 and 255.",
        ),
        (
            {FIRST: picture(np.zeros((48, 72, 3), np.uint8))},
            f"{FIRST}: has mode RGB, expected is 8-bit grey (mode L).",
        ),
        ({FIRST: b"no picture"}, f"{FIRST}: is not a picture that can be read."),
        ({FIRST: MASK[:60]}, f"{FIRST}: is not a picture that can be read."),
        ({"../evil.png": MASK}, "'../evil.png': leads out of the folder it is unpacked in."),
        ({"/etc/evil.png": MASK}, "'/etc/evil.png': leads out of the folder it is unpacked in."),
        ({"a\\..\\evil.png": MASK}, "'a\\\\..\\\\evil.png': leads out of the folder it is unpacked in."),
        (
            {"Annotations/all.zip": b"PK"},
            "Annotations/all.zip: is an archive in the archive; zip the folders themselves.",
        ),
        ({"notes.txt": b"hello"}, "notes.txt: is no PNG."),
        (
            {"__MACOSX/._a.png": MASK},
            "__MACOSX/._a.png: was added by the system that made the zip; leave it out.",
        ),
        (
            {"Annotations/00000.png": MASK},
            "Annotations/00000.png: lies in the wrong place; expected is "
            "Annotations/<video>/<expression id>/<frame>.png.",
        ),
    ],
)
def test_each_problem_is_named(changes: dict[str, bytes | None], said: str, tmp_path: Path, expected: Expected) -> None:
    entries = {name: content for name, content in {**complete(), **changes}.items() if content is not None}
    assert problems(zip_of(tmp_path / "a.zip", entries), expected) == [said]


def test_folders_that_lack_or_lie_around(tmp_path: Path, expected: Expected) -> None:
    without = {name: content for name, content in complete().items() if not name.startswith("Annotations/bb/1/")}
    assert problems(zip_of(tmp_path / "a.zip", without), expected) == [
        "Annotations/bb/1: is missing with its 5 frames."
    ]
    around = {f"my_run/{name}": content for name, content in complete().items()}
    assert problems(zip_of(tmp_path / "b.zip", around), expected) == [
        "my_run: the zip's root must be the folder Annotations."
    ]
    rooted = problems(zip_of(tmp_path / "c.zip", complete()), expected, "mevis")
    assert rooted == [
        "Annotations: is a folder around the others; the zip's root must hold <video>/<expression id>/<frame>.png."
    ]


def test_what_is_no_zip(tmp_path: Path, expected: Expected) -> None:
    (tmp_path / "a.zip").write_bytes(b"this is no zip")
    assert problems(tmp_path / "a.zip", expected) == ["a.zip is no zip file."]
    assert "The zip is empty." in problems(zip_of(tmp_path / "b.zip", {}), Expected())
    whole = zip_of(tmp_path / "c.zip", complete()).read_bytes()
    broken = whole.replace(b"IHDR", b"IHDX", 1)
    (tmp_path / "c.zip").write_bytes(broken)
    (said,) = problems(tmp_path / "c.zip", expected)
    assert said.startswith(f"{FIRST}: cannot be unpacked")


def test_palette_pictures_of_ref_davis17(tmp_path: Path) -> None:
    good = palette_png(np.arange(12, dtype=np.uint8).reshape(3, 4))
    entries = {f"anno_{number}/walk/00000.png": good for number in range(4)}
    assert problems(zip_of(tmp_path / "a.zip", entries), Expected(), "ref_davis17") == []
    entries["anno_0/walk/00000.png"] = palette_png(np.full((3, 4), 99, np.uint8))
    entries["anno_1/walk/00000.png"] = picture(np.zeros((3, 4), np.uint8))
    said = problems(zip_of(tmp_path / "b.zip", entries), Expected(), "ref_davis17")
    assert said == [
        "anno_0/walk/00000.png: holds the object number 99; DAVIS accepts 20 at most.",
        "anno_1/walk/00000.png: has mode L, expected is a palette picture (mode P).",
    ]


def test_the_command_lists_problems_and_exits_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = zip_of(tmp_path / "a.zip", {**complete(), "notes.txt": b"", "more.txt": b""})
    code, out, err = run(monkeypatch, capfd, "submission", "check", path, "--protocol", "refer_youtube_vos")
    assert code == 2 and err == ""
    assert out.splitlines() == [
        "notes.txt: is no PNG.",
        "more.txt: is no PNG.",
        f"{path} cannot be handed in: 2 problems.",
    ]
    for words, expected in (
        ([tmp_path / "absent.zip", "--protocol", "mevis"], "There is no file"),
        ([path, "--protocol", "olympics"], "no submission protocol 'olympics'"),
        ([path, "--protocol", "mevis", "--expressions", tmp_path / "absent.json"], "absent.json is missing"),
        ([path, "--protocol", "mevis", "--videos", path], "give that too"),
    ):
        code, out, err = run(monkeypatch, capfd, "submission", "check", *words)
        assert code == 2 and out == "" and err.count("\n") == 1 and expected in err, err


def test_a_list_chooses_the_videos(tmp_path: Path) -> None:
    meta = made_benchmarks.refer_youtube_vos(tmp_path)
    (tmp_path / "list.txt").write_text("bb\n")
    chosen = read_expected(meta, tmp_path / "list.txt", None)
    entries = {name: content for name, content in complete().items() if "/bb/" in name}
    assert problems(zip_of(tmp_path / "a.zip", entries), chosen) == []
    (tmp_path / "list.txt").write_text("cc\n")
    with pytest.raises(LocaterError, match=r"list.txt lists cc"):
        read_expected(meta, tmp_path / "list.txt", None)
