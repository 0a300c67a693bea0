"""A track of masks: what it tells, what it draws, and what it saves."""

import base64
import builtins
import importlib
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image
from pycocotools.coco import COCO

from locater.errors import LocaterError
from locater.records import FrameSource, VideoInfo
from locater.video.overlay import colour_of, draw
from locater.video.reader import open_source
from locater.video.track import MaskTrack
from locater.video.writer import FORMATS
from locater.video.writers.pictures import OverlapWarning
from tests.support.made_masks import hard_masks
from tests.support.making_videos import moving_masks, picture, result, write_video, write_video_with_sound

NAMES = ("the left <box>", "the right box", "the horse")


def three_masks(index: int, width: int = 96, height: int = 64) -> Any:
    """Two boxes and nothing."""
    return np.concatenate([moving_masks(index, 2, width, height), np.zeros((1, height, width), dtype=np.bool_)])


def tracked(source: FrameSource) -> MaskTrack:
    assert source.info.width is not None and source.info.height is not None
    track = MaskTrack(NAMES, source.info.height, source.info.width, source.info)
    for frame in source.frames():
        masks = three_masks(frame.index, source.info.width, source.info.height)
        track.append(result(frame.index, masks, frame.timestamp, name=frame.name))
    return track


@pytest.fixture
def track(tmp_path: Path) -> MaskTrack:
    return tracked(open_source(write_video(tmp_path / "clip.mp4", 5)))


def test_it_says_what_it_holds(track: MaskTrack) -> None:
    assert repr(track) == (
        "MaskTrack('clip.mp4', 5 frames of 96 x 64: 'the left <box>' in 5; 'the right box' in 5; 'the horse' in 0)"
    )


def test_a_notebook_shows_a_sheet_without_asking_for_anything(track: MaskTrack) -> None:
    shown = track._repr_html_()
    found = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', shown)
    assert len(found) == 1 and "http" not in shown
    with Image.open(io.BytesIO(base64.b64decode(found[0]))) as sheet:
        assert sheet.width > 4 * 200
        assert (np.abs(np.asarray(sheet).astype(int) - colour_of(1)).max(axis=2) < 60).sum() > 100
    assert "the left &lt;box&gt;: in 5 of 5 frames" in shown and "the horse: in 0 of 5 frames" in shown
    assert len(shown) < 200_000
    assert "in 0 of 0 frames" in MaskTrack(NAMES, 64, 96)._repr_html_()


def test_masks_are_asked_for_by_sentence_or_by_number(track: MaskTrack) -> None:
    np.testing.assert_array_equal(track.mask(3, "the right box"), three_masks(3)[1])
    np.testing.assert_array_equal(track.mask(-2, 1), three_masks(3)[1])
    np.testing.assert_array_equal(track.masks("the right box"), track.masks(1))
    assert track.areas("the horse") == [0] * 5
    assert track.boxes("the right box") == [(16 + index, 14, 20, 22) for index in range(5)]
    assert track.boxes("the horse") == [None] * 5
    with pytest.raises(LocaterError, match="no sentence 'the cow' in this track; choose from 'the left <box>', "):
        track.mask(0, "the cow")
    with pytest.raises(LocaterError, match="no sentence 3 in this track"):
        track.areas(3)
    with pytest.raises(LocaterError, match="no frame 5 in this track; it has 5"):
        track.mask(5)


def test_an_overlay_is_drawn_on_the_frame_itself(track: MaskTrack) -> None:
    assert track.info.path is not None
    frame = list(open_source(track.info.path).frames())[4]
    np.testing.assert_array_equal(track.overlay(4), draw(frame.pixels, three_masks(4)))
    given = np.stack([picture(index) for index in range(5)])
    np.testing.assert_array_equal(track.overlay(2, given), draw(given[2], three_masks(2)))


def test_supervision_takes_them(track: MaskTrack, monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings(action="ignore"):
        import supervision
    found = track.to_supervision(2)
    assert isinstance(found, supervision.Detections)
    assert found.mask is not None and found.class_id is not None and found.confidence is not None
    np.testing.assert_array_equal(found.mask, three_masks(2)[:2])
    np.testing.assert_array_equal(found.xyxy, supervision.mask_to_xyxy(three_masks(2)[:2]))
    assert found.class_id.tolist() == [0, 1]
    assert found.confidence.tolist() == pytest.approx([0.5, 0.6])
    assert found.data["class_name"].tolist() == list(NAMES[:2])  # type: ignore[union-attr]
    empty = MaskTrack(NAMES, 64, 96)
    empty.append(result(0, np.zeros((3, 64, 96), dtype=np.bool_)))
    assert len(empty.to_supervision(0)) == 0

    def absent(name: str) -> None:
        raise builtins.ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(LocaterError, match="pip install supervision"):
        track.to_supervision(2)


# ---- Saving ----------------------------------------------------------------------------------------------------------


def test_it_saves_every_format_and_the_same_masks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    track = tracked(open_source(write_video_with_sound(tmp_path / "clip.mp4")))
    with pytest.warns(OverlapWarning, match="gives a pixel to the earlier of them"):
        track.save(tmp_path / "out", list(FORMATS))
    coco = COCO(str(tmp_path / "out" / "masks.json"))
    capsys.readouterr()
    assert len(coco.getImgIds()) == len(track) == 24
    for annotation in coco.loadAnns(coco.getAnnIds()):
        mask = track.mask(annotation["image_id"], annotation["category_id"] - 1)
        np.testing.assert_array_equal(coco.annToMask(annotation), mask)
    with av.open(str(tmp_path / "out" / "overlay.mp4")) as container:
        assert container.streams.audio, "the sound comes from the remembered path"
        first = next(container.decode(video=0)).to_ndarray(format="rgb24")
    assert np.abs(first[:64].astype(int) - track.overlay(0)).mean() < 14
    with Image.open(tmp_path / "out" / "images" / "00023.jpg") as image:
        frame = list(open_source(tmp_path / "clip.mp4").frames())[23]
        assert np.abs(np.asarray(image).astype(int) - frame.pixels).mean() < 3


def test_pictures_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b7.png", "b12.png"):
        Image.new("RGB", (96, 64)).save(tmp_path / "in" / name)
    tracked(open_source(tmp_path / "in")).save(tmp_path / "out", "pngs")
    assert sorted(path.name for path in (tmp_path / "out/pngs/1_the_left_box").iterdir()) == ["b12.png", "b7.png"]


def test_masks_alone_need_no_source_and_pixels_need_the_right_one(tmp_path: Path) -> None:
    masks = hard_masks()
    track = MaskTrack(NAMES[:2], *masks.shape[2:])
    for index, each in enumerate(masks):
        track.append(result(index, each))
    without = [name for name, each in FORMATS.items() if not (each.needs_pixels or each.needs_images)]
    with warnings.catch_warnings(action="ignore", category=OverlapWarning):
        track.save(tmp_path / "out", without)
    assert json.loads((tmp_path / "out" / "boxes.json").read_text("utf-8"))["frames"] == 6
    for formats in ("overlay", "yolo"):
        with pytest.raises(LocaterError, match="give them again as source="):
            track.save(tmp_path / "no", formats)
    pictures = np.zeros((6, *masks.shape[2:], 3), dtype=np.uint8)
    with pytest.raises(LocaterError, match="The source has 4 frames, the track 6"):
        track.save(tmp_path / "no", "cutout", source=pictures[:4])
    with pytest.raises(LocaterError, match="The source is 66 x 45, the track 67 x 45"):
        track.save(tmp_path / "no", "cutout", source=pictures[:, :, 1:])
    with pytest.raises(LocaterError, match="no output format 'gif'"):
        track.save(tmp_path / "no", "gif")
    assert not (tmp_path / "no").exists()
    track.save(tmp_path / "yes", ["cutout", "overlay"], source=pictures)
    assert (tmp_path / "yes" / "overlay.mp4").exists()


def test_a_thousand_frames_leave_a_sheet_of_twelve() -> None:
    track = MaskTrack(NAMES[:1], 64, 96, VideoInfo("stream"))
    for index in range(300):
        track.append(result(index, moving_masks(index, 1)))
    assert len(track._sheet._kept) <= 48
    assert len(track._repr_html_()) < 200_000
