"""`locater data check` names every bad file and goes on; `locater data show` makes a sheet."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import scipy.io
from PIL import Image

from locater.cli import app as cli
from locater.datasets.catalog import open_dataset
from locater.datasets.inspect.check import CheckReport, check_dataset
from locater.datasets.inspect.sheet import contact_sheet
from tests.support.datasets.making_datasets import (
    HEIGHT,
    WIDTH,
    Truth,
    blob,
    make_a2d,
    make_authors_a2d_plus,
    make_coco,
    make_folder,
    make_jhmdb,
    make_mevis,
    make_ref_davis17,
    make_refcoco,
    make_refer_youtube_vos,
    write_binary,
    write_h5,
    write_json,
    write_pictures,
    write_video,
)


def only(report: CheckReport, *names: str) -> None:
    """One line names each of these files, and there is no other line."""
    assert len(report.problems) == len(names), report.problems
    for name in names:
        assert sum(name in line for line in report.problems) == 1, (name, report.problems)
    assert not any("\n" in line or "cannot be checked" in line for line in report.problems)
    assert not report.is_fine


def cut(path: Path) -> None:
    """Half the file, as an interrupted download leaves it."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def test_a2d_names_every_bad_file(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    masks = tmp_path / "text_annotations/a2d_annotation_with_instances"
    cut(masks / "two/00003.h5")
    (masks / "one/00001.h5").write_text("no h5")
    with h5py.File(masks / "one/00012.h5", "w") as file:
        file["instance"] = [0]
        file["reMask"] = blob(1, 14, 20).T.astype(np.uint8)
    (tmp_path / "Release/clips320H/one.mp4").replace(tmp_path / "Release/clips320H/two.mp4")
    cut(tmp_path / "Release/clips320H/two.mp4")
    report = check_dataset("a2d-sentences", tmp_path, "test")
    # Without the clip, the odd mask of 00012 has nothing to be held against.
    only(report, "two/00003.h5", "one/00001.h5", "one.mp4", "two.mp4")
    write_video(tmp_path / "Release/clips320H/one.mp4", 12)
    report = check_dataset("a2d-sentences", tmp_path, "test")
    only(report, "two/00003.h5", "one/00001.h5", "one/00012.h5: the mask is 20 x 14, its frame 64 x 48", "two.mp4")


def test_a2d_names_odd_contents(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    masks = tmp_path / "text_annotations/a2d_annotation_with_instances"
    with h5py.File(masks / "one/00001.h5", "w") as file:
        file["instance"] = [0]
    with h5py.File(masks / "one/00012.h5", "w") as file:
        file["instance"] = [0, 1]
        file["reMask"] = np.zeros((3, WIDTH, HEIGHT))
    write_h5(masks / "one/00013.h5", {0: blob(1)})
    report = check_dataset("a2d-sentences", tmp_path, "test")
    only(
        report,
        "one/00001.h5 has no 'reMask'",
        "one/00012.h5 holds masks of shape",
        "one/00013.h5 is a mask for frame 13",
    )


def test_a2d_names_a_missing_branch_once(tmp_path: Path) -> None:
    make_a2d(tmp_path)
    shutil.rmtree(tmp_path / "Release/clips320H")
    shutil.rmtree(tmp_path / "text_annotations/a2d_annotation_with_instances")
    report = check_dataset("a2d-sentences", tmp_path, "test")
    only(report, "clips320H", "a2d_annotation_with_instances")
    assert [(count.what, count.found) for count in report.counts] == [
        ("videos", 2),
        ("objects", 3),
        ("sentences", 3),
        ("masks", None),
    ]


def test_jhmdb_names_every_bad_file(tmp_path: Path) -> None:
    make_jhmdb(tmp_path)
    cut(tmp_path / "puppet_mask/throw/throw_ball/puppet_mask.mat")
    scipy.io.savemat(tmp_path / "puppet_mask/sit/still/puppet_mask.mat", {"other": np.zeros(3)})
    report = check_dataset("jhmdb-sentences", tmp_path, None)
    only(report, "throw/throw_ball/puppet_mask.mat", "sit/still/puppet_mask.mat has no 'part_mask'")
    make_again = tmp_path / "again"
    make_jhmdb(make_again)
    write_pictures(make_again / "Rename_Images/sit/still", ["00001.png"], 10, 12)
    (make_again / "Rename_Images/throw/throw_ball/00002.png").write_bytes(b"no picture")
    report = check_dataset("jhmdb-sentences", make_again, None)
    only(report, "puppet_mask.mat (frame 1): the mask is 64 x 48, its frame 12 x 10", "throw_ball/00002.png")


def test_refer_youtube_vos_names_every_bad_file(tmp_path: Path) -> None:
    make_refer_youtube_vos(tmp_path)
    pictures, masks = tmp_path / "train/JPEGImages/aa", tmp_path / "train/Annotations/aa"
    (pictures / "00000.jpg").unlink()
    cut(pictures / "00010.jpg")
    (masks / "00005.png").unlink()
    (masks / "00010.png").write_bytes(b"no picture")
    report = check_dataset("refer-youtube-vos", tmp_path, "train")
    only(
        report,
        "JPEGImages/aa/00000.jpg is missing",
        "JPEGImages/aa/00010.jpg is not a picture",
        "Annotations/aa/00005.png is missing",
        "Annotations/aa/00010.png is not a picture",
    )


def test_pictures_and_masks_of_another_size(tmp_path: Path) -> None:
    make_refer_youtube_vos(tmp_path)
    write_pictures(tmp_path / "train/JPEGImages/aa", ["00005.jpg"], 20, 30)
    Image.new("P", (30, 20)).save(tmp_path / "train/Annotations/aa/00010.png")
    report = check_dataset("refer-youtube-vos", tmp_path, "train")
    only(report, "00005.jpg is 30 x 20", "00010.png: the mask is 30 x 20, its frame 64 x 48")


def test_ref_davis17_names_every_bad_file(tmp_path: Path) -> None:
    make_ref_davis17(tmp_path)
    cut(tmp_path / "DAVIS/Annotations_unsupervised/480p/dogs-jump/00000.png")
    (tmp_path / "DAVIS/Annotations_unsupervised/480p/dogs-jump/00001.png").unlink()
    report = check_dataset("ref-davis17", tmp_path, None)
    only(report, "dogs-jump/00000.png", "dogs-jump/00001.png")
    (tmp_path / "davis_text_annotations/Davis17_annot2.txt").write_text("dogs-jump one dog\n")
    only(check_dataset("ref-davis17", tmp_path, None), "Davis17_annot2.txt is not laid out as published: line 1")


def test_mevis_names_what_is_broken(tmp_path: Path) -> None:
    make_mevis(tmp_path)
    write_json(
        tmp_path / "valid_u/mask_dict.json",
        {"11": [{"size": [HEIGHT, WIDTH], "counts": "!"}, None], "12": [None, None, None]},
    )
    report = check_dataset("mevis", tmp_path, None)
    only(report, "(mm/0, frame 1) holds a mask that cannot be decoded", "no track 12 of 2 frames for mm/1")
    (tmp_path / "valid_u/mask_dict.json").unlink()
    only(check_dataset("mevis", tmp_path, None), "mask_dict.json is missing")


def test_authors_masks_and_folders(tmp_path: Path) -> None:
    make_authors_a2d_plus(tmp_path / "authors")
    cut(tmp_path / "authors/A2D_SUBSET/A2D_MUL/mask/-seq_1_0_00002.pth")
    only(check_dataset("a2d-s+", tmp_path / "authors", "M"), "-seq_1_0_00002.pth")
    own = tmp_path / "own"
    make_folder(own)
    write_binary(own / "masks/park/dog/f3.png", blob(1))
    (own / "masks/park/ball/f10.png").write_bytes(b"")
    (own / "videos/street.mp4").unlink()
    report = check_dataset("folder", own, None)
    only(report, "dog/f3.png is named like no frame", "ball/f10.png", "no video street")


def test_coco_names_a_missing_photograph(tmp_path: Path) -> None:
    make_coco(tmp_path)
    (tmp_path / "val2017/COCO_train2014_7.jpg").unlink()
    only(check_dataset("coco", tmp_path, "val2017"), "COCO_train2014_7.jpg")


BROKEN: list[tuple[str, str | None, Callable[[Path], Truth], str]] = [
    ("refer-youtube-vos", "train", make_refer_youtube_vos, "meta_expressions/train/meta_expressions.json"),
    ("refer-youtube-vos", "train", make_refer_youtube_vos, "train/meta.json"),
    ("mevis", None, make_mevis, "valid_u/meta_expressions.json"),
    ("mevis", None, make_mevis, "valid_u/mask_dict.json"),
    ("a2d-s+", "M", make_authors_a2d_plus, "A2D_SUBSET/A2D_MUL/A2D_MUL_test_expressions.json"),
    ("coco", "val2017", make_coco, "annotations/instances_val2017.json"),
    ("refcoco", "val", make_refcoco, "refcoco/instances.json"),
    ("refcoco", "val", make_refcoco, "refcoco/refs(unc).json"),
    ("a2d-sentences", None, make_a2d, "Release/videoset.csv"),
    ("a2d-sentences", None, make_a2d, "text_annotations/a2d_annotation.txt"),
    ("jhmdb-sentences", None, make_jhmdb, "jhmdb_annotation.txt"),
]


@pytest.mark.parametrize(("name", "split", "make", "file"), BROKEN)
@pytest.mark.parametrize("content", [b"{", b"[1]", b'{"videos": {"aa": 3}}', b"\xff\xfe\x00", b""])
def test_an_unreadable_index_is_one_line(
    tmp_path: Path, name: str, split: str | None, make: Callable[[Path], Truth], file: str, content: bytes
) -> None:
    make(tmp_path)
    (tmp_path / file).write_bytes(content)
    report = check_dataset(name, tmp_path, split)
    assert not report.is_fine
    assert not any("cannot be checked" in line for line in report.problems), report.problems
    if name != "a2d-sentences" or "csv" not in file:  # an empty csv is a csv: its counts are off
        assert any(file in line for line in report.problems), report.problems


# ---- The command line ------------------------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> object:
    monkeypatch.setattr(sys, "argv", ["locater", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code


def test_check_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    make_folder(tmp_path)
    assert run(monkeypatch, "data", "check", f"folder:{tmp_path}") == 0
    told = capsys.readouterr().out
    assert run(monkeypatch, "data", "check", "folder", tmp_path) == 0  # the old spelling
    assert told.endswith("All is well.\n") and told == capsys.readouterr().out
    (tmp_path / "videos/street.mp4").unlink()
    assert run(monkeypatch, "data", "check", "folder", tmp_path, "--split", "test") == 2
    out = capsys.readouterr().out
    assert "sentences              4" in out
    assert "no video street" in out
    assert run(monkeypatch, "data", "check", "a2d-sentences", tmp_path) == 2
    assert "Release/videoset.csv is missing" in capsys.readouterr().out
    assert run(monkeypatch, "data", "check", "a2d", tmp_path) == 2
    assert "There is no dataset 'a2d'; choose one of shapes, " in capsys.readouterr().err
    assert run(monkeypatch, "data", "check", "shapes") == 2
    assert "it has no files that could be checked" in capsys.readouterr().err
    assert run(monkeypatch, "data", "check", "mevis") == 2
    assert "mevis needs the folder" in capsys.readouterr().err


def test_counts_off_the_published_ones_are_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_a2d(tmp_path)
    assert run(monkeypatch, "data", "check", "a2d-sentences", tmp_path) == 2
    out = capsys.readouterr().out
    assert "of 737 published  <- differs" in out
    assert "masks                  5  of 3,800 published" in out


def test_show_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    make_folder(tmp_path)
    out = tmp_path / "sheet.png"
    assert run(monkeypatch, "data", "show", f"folder:{tmp_path}", "--out", out, "--count", 3) == 0
    assert "3 sentences shown" in capsys.readouterr().out
    before = out.read_bytes()
    assert run(monkeypatch, "data", "show", "folder", tmp_path, "--out", out, "--count", 3) == 0  # the old spelling
    assert out.read_bytes() == before
    assert run(monkeypatch, "data", "show", "shapes", "--out", tmp_path / "shapes.png", "--count", 2) == 0
    with Image.open(out) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert pixels.shape[1] > 3 * 320
    is_red = (pixels[:, :, 0] > 200) & (pixels[:, :, 1] < 60)
    assert is_red.any(), "the masks' outlines"
    assert run(monkeypatch, "data", "show", "folder", tmp_path, "--out", tmp_path / "sheet.txt") == 2


def test_sheet_shows_what_cannot_be_read(tmp_path: Path) -> None:
    make_folder(tmp_path)
    (tmp_path / "videos/street.mp4").unlink()
    sheet = contact_sheet(open_dataset("folder", tmp_path, None), count=20)
    assert sheet.width > 4 * 320
