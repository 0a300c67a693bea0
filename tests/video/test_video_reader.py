"""The reader on real files: what comes out, and what it says of bad ones."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from av.video.frame import VideoFrame
from PIL import Image

from locater.errors import LocaterError
from locater.records import FrameSource, Pixels
from locater.video.file_source import VideoFile
from locater.video.orientation import UprightPixels
from locater.video.reader import open_source
from tests.support.making_videos import picture, with_matrix, write_sound, write_video


def redness(pixels: Pixels) -> list[list[bool]]:
    """Which quarters of the picture are red."""
    height, width = pixels.shape[:2]
    rows = (slice(0, height // 2), slice(height // 2, None))
    columns = (slice(0, width // 2), slice(width // 2, None))
    return [[bool(pixels[row, column, 0].mean() > 150) for column in columns] for row in rows]


# ---- Files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt"),
    [
        ("a.mp4", "libx264", "yuv420p"),
        ("a.mov", "libx264", "yuv444p"),
        ("a.mkv", "libx264", "yuv420p10le"),
        ("a.webm", "libvpx-vp9", "yuv420p"),
        ("a.avi", "mpeg4", "yuv420p"),
        ("a.ts", "libx264", "yuv420p"),
        ("a.gif", "gif", "rgb8"),
        ("gray.mkv", "ffv1", "gray"),
        ("alpha.mkv", "ffv1", "bgra"),
    ],
)
def test_every_container_gives_all_frames_in_rgb(tmp_path: Path, name: str, codec: str, pix_fmt: str) -> None:
    source = open_source(write_video(tmp_path / name, codec=codec, pix_fmt=pix_fmt))
    assert isinstance(source, FrameSource)
    assert source.is_repeatable
    frames = list(source.frames())
    assert [frame.index for frame in frames] == list(range(30))
    assert (source.info.width, source.info.height, source.info.frame_count) == (96, 64, 30)
    assert source.info.duration == pytest.approx(30 / 24, abs=0.05)
    assert source.info.frames_per_second == pytest.approx(24, abs=1.1)
    assert source.info.name == name
    for frame in frames:
        assert frame.pixels.shape == (64, 96, 3)
        assert frame.pixels.dtype == np.uint8
        assert frame.timestamp == pytest.approx(frame.index / 24, abs=0.011)
    quarter = frames[7].pixels[4:28, 4:44].reshape(-1, 3).mean(axis=0)
    if pix_fmt == "gray":
        assert np.ptp(quarter) == 0
    else:
        np.testing.assert_allclose(quarter, (250, 10, 10), atol=24)


def test_threads_that_convert_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.mp4")
    found = []
    for cores in (1, 16):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        frames = list(VideoFile(path).frames(start=1, every=3))
        found.append([(frame.index, frame.timestamp, frame.pixels.tobytes()) for frame in frames])
    assert found[0] == found[1] and len(found[0]) == 10


def test_raw_stream_without_headers_is_counted(tmp_path: Path) -> None:
    source = open_source(write_video(tmp_path / "a.h264", format_name="h264"))
    frames = list(source.frames())
    assert source.info.frame_count == len(frames) == 30
    assert source.info.duration == pytest.approx(30 / 25)  # no times in such a file: FFmpeg takes 25 fps
    assert [frame.timestamp for frame in frames] == pytest.approx([index / 25 for index in range(30)])


@pytest.mark.parametrize(("width", "height"), [(97, 63), (1, 1), (33, 2)])
def test_odd_sizes(tmp_path: Path, width: int, height: int) -> None:
    source = open_source(write_video(tmp_path / "a.mkv", 3, width, height, codec="ffv1", pix_fmt="bgr0"))
    for frame in source.frames():
        np.testing.assert_array_equal(frame.pixels, picture(frame.index, width, height))


def test_variable_frame_rate_keeps_the_times(tmp_path: Path) -> None:
    ticks = [500, 510, 600, 610, 1000, 3020, 3021]
    source = open_source(write_video(tmp_path / "a.mp4", len(ticks), ticks=ticks))
    expected = [(tick - ticks[0]) / 1000 for tick in ticks]
    assert [frame.timestamp for frame in source.frames()] == pytest.approx(expected, abs=1e-4)
    assert source.info.frame_count == len(ticks)


# x' = a x + c y, y' = b x + d y: QuickTime's definition, and what the ffmpeg program shows for the same bytes.
@pytest.mark.parametrize(
    ("matrix", "quarters"),
    [
        ((1, 0, 0, 1), [[True, False], [False, False]]),
        ((0, 1, -1, 0), [[False, True], [False, False]]),  # an upright phone: a quarter turn clockwise
        ((0, -1, 1, 0), [[False, False], [True, False]]),
        ((-1, 0, 0, -1), [[False, False], [False, True]]),
        ((-1, 0, 0, 1), [[False, True], [False, False]]),  # a mirrored selfie
        ((0, 1, 1, 0), [[True, False], [False, False]]),
    ],
)
def test_rotation_is_applied(tmp_path: Path, matrix: tuple[int, int, int, int], quarters: list[list[bool]]) -> None:
    plain = write_video(tmp_path / "plain.mp4", 4)
    source = open_source(with_matrix(plain, tmp_path / "turned.mp4", matrix))
    is_sideways = matrix[0] == 0
    assert (source.info.width, source.info.height) == ((64, 96) if is_sideways else (96, 64))
    for frame in source.frames():
        assert frame.pixels.shape == ((96, 64, 3) if is_sideways else (64, 96, 3))
        assert redness(frame.pixels) == quarters


def test_start_and_every(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = VideoFile(write_video(tmp_path / "a.mp4"))  # in this process, where conversions can be counted
    whole = list(source.frames())
    converted = 0
    convert = UprightPixels.of

    def counted(self: UprightPixels, frame: VideoFrame) -> Pixels:
        nonlocal converted
        converted += 1
        return convert(self, frame)

    monkeypatch.setattr(UprightPixels, "of", counted)
    some = list(source.frames(start=3, every=7))
    assert [frame.index for frame in some] == [3, 10, 17, 24]
    assert converted == 4
    for frame in some:
        assert frame.timestamp == whole[frame.index].timestamp
        np.testing.assert_array_equal(frame.pixels, whole[frame.index].pixels)
    with pytest.raises(LocaterError, match="in steps of 0"):
        source.frames(every=0)


def open_files() -> set[str]:
    return {os.readlink(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd") if _is_open(name)}  # noqa: PTH115, PTH208


def _is_open(name: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{name}")


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux")
def test_abandoned_reading_closes_the_file(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4")
    frames = VideoFile(path).frames()
    next(frames)
    assert str(path) in open_files()
    del frames
    gc.collect()
    assert str(path) not in open_files()


def test_tilde_and_single_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Image.fromarray(picture(0)).save(tmp_path / "one.png")
    source = open_source("~/one.png")
    (frame,) = source.frames()
    assert source.info.frame_count == 1
    np.testing.assert_array_equal(frame.pixels, picture(0))


# ---- Bad files -------------------------------------------------------------------------------------------------------


def refused(source: object) -> str:
    with pytest.raises(LocaterError) as caught:
        open_source(source)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_missing_text_empty_and_sound_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "There is no file" in refused(tmp_path / "none.mp4")
    assert "is an address; download it first" in refused("http://example.com/a.mp4")
    assert "name too long" in refused("a" * 300)
    text = tmp_path / "text.mp4"
    text.write_text("not a video\n" * 100)
    assert "not a video" in refused(text)
    (tmp_path / "empty.mp4").touch()
    assert "is empty" in refused(tmp_path / "empty.mp4")
    assert "only sound" in refused(write_sound(tmp_path / "sound.m4a"))
    for name in ("zero.mkv", "zero.mp4", "zero.avi"):
        assert "has no frames" in refused(write_video(tmp_path / name, 0))
    assert capfd.readouterr().err == ""  # FFmpeg's own complaints stay away


def test_mp4_without_its_index_is_cut_short(tmp_path: Path) -> None:
    content = write_video(tmp_path / "a.mp4").read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(content[: content.index(b"moov")])
    assert "is cut short: its index is missing" in refused(cut)


@pytest.mark.parametrize("movflags", ["+faststart", "+frag_keyframe+empty_moov"])
@pytest.mark.parametrize("kept", [0.02, 0.5, 1.0])
def test_mp4_with_its_end_missing_is_cut_short(tmp_path: Path, movflags: str, kept: float) -> None:
    content = write_video(tmp_path / "a.mp4", 60, movflags=movflags).read_bytes()
    media = content.index(b"mdat") + 4
    end = content.rindex(b"mfra") - 4 if b"mfra" in content else len(content)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(content[: media + int(kept * (end - media)) - 8])
    sentence = refused(cut)
    assert "is cut short: only " in sentence
    assert "of its 60 frames" in sentence


def test_cut_between_two_packets_is_found(tmp_path: Path) -> None:
    import av

    path = write_video(tmp_path / "a.mp4", 60, movflags="+faststart")
    with av.open(str(path)) as container:
        end = container.streams.video[0].index_entries[40].pos
    path.write_bytes(path.read_bytes()[:end])
    assert "only 40 of its 60 frames" in refused(path)


def test_edit_list_is_no_damage(tmp_path: Path) -> None:
    """A trimmed copy keeps frames that are not shown; it must be read, without them."""
    import av

    path = write_video(tmp_path / "a.mp4", 60)
    trimmed = tmp_path / "trimmed.mp4"
    with av.open(str(path)) as source, av.open(str(trimmed), "w") as target:
        stream = target.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None and packet.pts is not None:
                base = source.streams.video[0].time_base
                assert base is not None
                packet.pts -= int(1 / base)  # the first second goes before zero: the muxer writes an edit list
                packet.dts -= int(1 / base)
                packet.stream = stream
                target.mux(packet)
    result = open_source(trimmed)
    frames = list(result.frames())
    assert result.info.frame_count == len(frames)
    assert 20 < len(frames) < 60
    assert frames[0].timestamp == 0


def test_damaged_middle_is_skipped_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import av

    path = write_video(tmp_path / "a.mp4", 40)
    with av.open(str(path)) as container:
        entry = container.streams.video[0].index_entries[20]
    content = bytearray(path.read_bytes())
    content[entry.pos : entry.pos + entry.size] = b"\xff" * entry.size
    path.write_bytes(content)
    frames = list(open_source(path).frames())
    assert 20 <= len(frames) < 40
    assert "damaged packets were skipped" in caplog.text


# ---- Folders ---------------------------------------------------------------------------------------------------------


def test_folder_in_natural_order(tmp_path: Path) -> None:
    for number, suffix in ((1, "png"), (2, "bmp"), (10, "webp"), (9, "png")):
        shade = np.full((5, 7, 3), number, dtype=np.uint8)
        Image.fromarray(shade).save(tmp_path / f"frame{number}.{suffix}", lossless=True)
    (tmp_path / "notes.txt").write_text("no picture")
    (tmp_path / "._frame1.png").write_text("no picture either")
    source = open_source(tmp_path)
    frames = list(source.frames())
    assert [int(frame.pixels[0, 0, 0]) for frame in frames] == [1, 2, 9, 10]
    assert [frame.timestamp for frame in frames] == [0, 1 / 24, 2 / 24, 3 / 24]
    assert (source.info.width, source.info.height, source.info.frame_count) == (7, 5, 4)
    assert source.info.name == tmp_path.name
    at_ten = open_source(tmp_path, frames_per_second=10)
    assert [frame.timestamp for frame in at_ten.frames(start=1, every=2)] == [0.1, 0.3]
    assert at_ten.info.duration == 0.4


def test_folder_of_every_kind_of_picture_is_rgb_and_upright(tmp_path: Path) -> None:
    rgb = Image.fromarray(picture(0))
    rgb.convert("L").save(tmp_path / "1.png")
    rgb.convert("RGBA").save(tmp_path / "2.png")
    rgb.quantize().save(tmp_path / "3.png")
    Image.fromarray(np.full((64, 96), 40000, dtype=np.uint16)).save(tmp_path / "4.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise to stand upright
    rgb.rotate(90, expand=True).save(tmp_path / "5.jpg", exif=exif, quality=95)
    frames = list(open_source(tmp_path).frames())
    assert {frame.pixels.shape for frame in frames} == {(64, 96, 3)}
    assert int(frames[3].pixels[0, 0, 0]) == 40000 >> 8
    for number in (1, 2, 4):
        assert redness(frames[number].pixels) == [[True, False], [False, False]]


def test_bad_folders(tmp_path: Path) -> None:
    assert "holds no pictures" in refused(tmp_path)
    Image.fromarray(picture(0)).save(tmp_path / "1.png")
    Image.fromarray(picture(0, 90, 64)).save(tmp_path / "2.png")
    assert "2.png is 90 x 64, but 1.png is 96 x 64" in refused(tmp_path)
    (tmp_path / "2.png").write_text("nonsense")
    assert "2.png is not a picture" in refused(tmp_path)


# ---- Arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_list", [True, False])
def test_arrays_are_repeatable(is_list: bool) -> None:
    stack = np.stack([picture(index) for index in range(5)])
    source = open_source(list(stack) if is_list else stack, frames_per_second=5)
    assert source.is_repeatable
    assert source.info.frame_count == 5
    for _ in range(2):
        frames = list(source.frames(start=1, every=2))
        assert [(frame.index, frame.timestamp) for frame in frames] == [(1, 0.2), (3, 0.6)]
        np.testing.assert_array_equal(frames[1].pixels, stack[3])
    assert open_source(source) is source


def test_stream_is_read_once_and_lazily() -> None:
    taken = 0

    def camera() -> Iterator[Pixels]:
        nonlocal taken
        while True:
            taken += 1
            yield picture(taken)

    source = open_source(camera())
    assert not source.is_repeatable
    assert taken == 0
    frames = source.frames()
    assert [next(frames).index for _ in range(3)] == [0, 1, 2]
    assert taken == 3
    with pytest.raises(LocaterError, match="read already"):
        source.frames()


def test_gray_arrays_get_three_channels() -> None:
    gray = picture(0)[:, :, 1]
    (frame,) = open_source([gray]).frames()
    np.testing.assert_array_equal(frame.pixels, np.stack([gray] * 3, axis=2))
    stack: npt.NDArray[np.uint8] = np.stack([gray, gray])
    assert open_source(stack).info.frame_count == 2


def test_bad_arrays() -> None:
    assert "float64" in refused([picture(0) / 255])
    assert "(64, 96, 4)" in refused([np.zeros((64, 96, 4), dtype=np.uint8)])
    assert "put it in a list" in refused(picture(0))
    assert "is empty" in refused([])
    assert "bytes" in refused(b"\x00")
    assert "int" in refused(3)
    with pytest.raises(LocaterError, match="Frame 1 is 90 x 64, the first is 96 x 64"):
        list(open_source([picture(0), picture(0, 90)]).frames())
    with pytest.raises(LocaterError, match="int16"):
        list(open_source(iter([picture(0).astype(np.int16)])).frames())


def test_frame_rates_that_make_no_sense(tmp_path: Path) -> None:
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(LocaterError, match="not possible"):
            open_source([picture(0)], frames_per_second=rate)
    with pytest.raises(LocaterError, match="times of its own"):
        open_source(write_video(tmp_path / "a.mp4", 3), frames_per_second=10)
