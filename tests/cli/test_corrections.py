"""`locater segment` with --click, --box and --mask: what is typed is what is corrected, and slips are told."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from locater.cli.segmenting.corrections import read_corrections
from locater.errors import LocaterError
from locater.records import Click, Correction
from tests.support.command_line.clips import DOG, HEIGHT, OTHER, WIDTH
from tests.support.command_line.running import Run, refused


def test_what_is_typed_is_what_is_meant() -> None:
    assert read_corrections(["12,200,140", "2:3,1.5,2,-", " 1 : 0 , 4 , 5 , + "], ["7,1,2,3,4"], []) == [
        Correction(12, 0, (Click(200, 140),)),
        Correction(3, 1, (Click(1.5, 2, is_inside=False),)),
        Correction(0, 0, (Click(4, 5),)),
        Correction(7, 0, box=(1, 2, 3, 4)),
    ]


@pytest.mark.parametrize("text", ["", "12", "12,3", "12,3,4,x", "a,3,4", "12,3,4,-,5", "0:1,2,3", "-1,2,3", "12,,4"])
def test_a_malformed_click_is_told(text: str) -> None:
    with pytest.raises(LocaterError, match=r"--click .* cannot be read: it is FRAME,X,Y for what is meant"):
        read_corrections([text], [], [])


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_a_mask_is_read_from_any_kind_of_picture(tmp_path: Path, mode: str) -> None:
    drawn = np.zeros((6, 8), dtype=np.uint8)
    drawn[2:4, 3:7] = 1 if mode == "P" else 255
    Image.fromarray(drawn, mode="P" if mode == "P" else "L").convert(mode).save(tmp_path / "a,b.png")
    (told,) = read_corrections([], [], [f"4,{tmp_path / 'a,b.png'}"])
    assert told.frame == 4 and told.mask is not None and np.array_equal(told.mask, drawn > 0)


def test_a_clicked_object_of_a_second_sentence_and_a_drawn_mask(
    run: Run, checkpoint: Path, video: Path, tmp_path: Path
) -> None:
    drawn = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    drawn[20:40, 20:50] = 255
    Image.fromarray(drawn).save(tmp_path / "drawn.png")
    ran = run(
        *("segment", video, DOG, OTHER, "--checkpoint", checkpoint, "--format", "png", "--out", tmp_path / "out"),
        *("--mask", f"7,{tmp_path / 'drawn.png'}", "--click", "2:7,80,55", "--click", "2:7,10,10,-"),
    )
    assert ran.code == 0
    with Image.open(tmp_path / "out" / "masks" / "00007.png") as picture:
        numbers = np.asarray(picture)
    assert (numbers[drawn > 0] == 1).all() and numbers[55, 80] == 2 and numbers[10, 10] == 0


def test_a_click_without_a_sentence(run: Run, checkpoint: Path, video: Path, tmp_path: Path) -> None:
    ran = run(
        *("segment", video, "--click", "7,20,25", "--checkpoint", checkpoint),
        *("--format", "png,rle", "--out", tmp_path / "out"),
    )
    assert (ran.code, ran.err) == (0, "")
    with Image.open(tmp_path / "out" / "masks" / "00007.png") as picture:
        assert np.asarray(picture)[25, 20] == 1
    assert '"clicked 1"' in (tmp_path / "out" / "masks.json").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--click", "7,20"], "cannot be read"),
        (["--click", "20,5,5"], "no frame 20 to correct: frames are numbered from 0, and the video has 20"),
        (["--click", "7,96,5"], "outside the picture, which is 96 x 64 pixels"),
        (["--click", "2:7,5,5"], "Sentence 2 is corrected, but there are 1"),
        (["--box", "7,5,5,5"], "cannot be read: it is FRAME,LEFT,TOP,RIGHT,BOTTOM"),
        (["--mask", "7,missing.png"], "missing.png is missing"),
    ],
)
def test_slips_are_told_before_the_work(run: Run, video: Path, tmp_path: Path, options: list[str], told: str) -> None:
    """No checkpoint is there to be read."""
    assert told in refused(run, tmp_path, "segment", video, DOG, "--checkpoint", tmp_path / "none", *options)


def test_nothing_to_segment_is_told(run: Run, video: Path, tmp_path: Path) -> None:
    assert "Say what to segment" in refused(run, tmp_path, "segment", video, "--checkpoint", tmp_path / "none")


def test_corrections_are_of_one_video(run: Run, video: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.mp4"
    other.write_bytes(video.read_bytes())
    told = refused(run, tmp_path, "segment", video, other, DOG, "--click", "1,2,3", "--checkpoint", tmp_path / "none")
    assert "Corrections are of one video, and 2 are named" in told
