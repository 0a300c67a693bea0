"""The source's sound in the overlay: the same codec where browsers play it, and at the same time as before."""

from pathlib import Path

import pytest

from locater.records import VideoInfo
from locater.video.guarded import sound_copy
from locater.video.guarded.sound_copy import SoundCopy
from locater.video.guarded.source import guarded_sound
from locater.video.mp4 import Mp4File
from locater.video.reader import open_source
from locater.video.writer import open_writers
from tests.support.making_videos import heard, moving_masks, picture, result, write_video, write_video_with_sound

NAMES = ("the left box", "the right box")


def overlaid(source: Path, folder: Path, formats: tuple[str, ...] = ("overlay",)) -> Path:
    folder.mkdir()
    info = open_source(source).info
    with open_writers(formats, folder, info, NAMES) as writers:
        for frame in open_source(source).frames():
            writers.write(result(frame.index, moving_masks(frame.index), frame.timestamp))
    return folder


@pytest.mark.parametrize(
    ("name", "codec", "delay", "expected"),
    [
        ("clip.mp4", "aac", 0.0, "aac"),
        ("late.mkv", "aac", 0.5, "aac"),  # neither begins at 0
        ("broadcast.ts", "aac", 0.0, "aac"),  # frames with headers of their own, and a clock that starts anywhere
        ("recorder.mov", "pcm_s16le", 0.0, "aac"),  # which no browser plays from an mp4
        ("studio.mkv", "flac", 0.0, "flac"),
        ("television.ts", "ac3", 0.0, "aac"),
        ("web.mkv", "libopus", 0.0, "opus"),
    ],
)
def test_the_overlay_sounds_as_the_source(tmp_path: Path, name: str, codec: str, delay: float, expected: str) -> None:
    source = write_video_with_sound(tmp_path / name, codec, delay)
    _, starts, length = heard(source)
    found, starts_now, length_now = heard(overlaid(source, tmp_path / "out") / "overlay.mp4")
    assert starts == pytest.approx(0.5, abs=0.03)
    assert found == expected
    assert starts_now == pytest.approx(starts, abs=0.03)
    assert length_now == pytest.approx(length, abs=0.07)
    assert len(list(open_source(tmp_path / "out" / "overlay.mp4").frames())) == 24


def test_every_sentences_own_overlay_sounds_and_a_matte_is_silent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[Path] = []

    def noted(path: Path, out: Path) -> Path | None:
        copies.append(out)
        return guarded_sound(path, out)

    monkeypatch.setattr(sound_copy, "guarded_sound", noted)
    source = write_video_with_sound(tmp_path / "clip.mp4")
    folder = overlaid(source, tmp_path / "out", ("overlays", "matte"))
    paths = sorted((folder / "overlays").iterdir())
    assert len(paths) == 2
    for path in paths:
        assert heard(path)[1] == pytest.approx(0.5, abs=0.03)
    assert len(copies) == 1 and not copies[0].parent.exists(), "taken out once for all, and not left behind"
    assert b"mp4a" not in (folder / "matte" / "1_the_left_box.mp4").read_bytes()


@pytest.mark.parametrize("kind", ["silent", "gone", "folder", "no video at all"])
def test_without_sound_there_are_pictures_all_the_same(tmp_path: Path, kind: str) -> None:
    source = tmp_path / "clip.mp4"
    if kind == "silent":
        write_video(source)
    elif kind == "folder":
        source.mkdir()
    elif kind == "no video at all":
        source.write_text("nothing")
    with SoundCopy(source) as sound, Mp4File(tmp_path / "out.mp4", 24, sound_of=sound) as file:
        file.write(picture(0), 0)
    assert open_source(tmp_path / "out.mp4").info.frame_count == 1


def test_sound_that_breaks_off_leaves_the_pictures_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = write_video_with_sound(tmp_path / "clip.mkv").read_bytes()
    (tmp_path / "cut.mkv").write_bytes(whole[: len(whole) // 2])
    info = VideoInfo("cut.mkv", 96, 64, frames_per_second=24.0, path=tmp_path / "cut.mkv")
    with open_writers(["overlay"], tmp_path, info, NAMES) as writers:
        for index in range(24):
            writers.write(result(index, moving_masks(index)))
    assert len(list(open_source(tmp_path / "overlay.mp4").frames())) == 24
    assert heard(tmp_path / "overlay.mp4")[2] < 0.9, caplog.text
