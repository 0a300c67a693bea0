"""Files that people have: decoded elsewhere, within limits, whatever is in them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from PIL import Image

from locater.errors import LocaterError
from locater.video.file_source import Bounds, VideoFile
from locater.video.guarded.limits import Limits, limits_of_environment
from locater.video.guarded.source import guarded_video
from locater.video.reader import open_source
from locater.web.segment.limits import Limits as PageLimits
from tests.support.making_videos import write_video

ON_A_PAGE = PageLimits().of_a_clip


def write_black(
    path: Path, width: int, height: int, count: int, rate: int, codec: str = "libx264", pix_fmt: str = "yuv420p"
) -> Path:
    """A black clip, of any size in a few bytes."""
    options = {"preset": "ultrafast"} if codec == "libx264" else {}
    with av.open(str(path), "w", format="mov" if codec == "png" else "matroska") as container:
        stream = container.add_stream(codec, rate=Fraction(rate), options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, pix_fmt
        frame = av.VideoFrame(width, height, pix_fmt)
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        for index in range(count):
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_video(tmp_path_factory.mktemp("guarded") / "clip.mp4", 20)


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def settled() -> set[int]:
    """The processes, when every decoder that was asked something before is gone."""
    servers = {process.pid for process in psutil.Process().children()}
    wait_until_only(servers)
    return servers


def wait_until_only(expected: set[int]) -> None:
    until = time.monotonic() + 10
    while children() != expected and time.monotonic() < until:
        time.sleep(0.01)
    assert children() == expected


def test_frames_are_the_readers_own(clip: Path) -> None:
    child, plain = guarded_video(clip, Limits(), "mine"), VideoFile(clip)
    assert child.info.name == "mine" and child.info.path is None and child.info.frame_count == 20
    assert guarded_video(clip).info == plain.info
    for start, every in ((0, 1), (3, 4)):
        pairs = list(zip(child.frames(start, every), plain.frames(start, every), strict=True))
        assert pairs
        for ours, theirs in pairs:
            assert (ours.index, ours.timestamp) == (theirs.index, theirs.timestamp)
            assert np.array_equal(ours.pixels, theirs.pixels)


def test_a_reading_that_is_given_up_leaves_no_process(clip: Path) -> None:
    video = guarded_video(clip)
    before = settled()
    frames = video.frames()
    next(frames)
    assert len(children() - before) == 1
    assert isinstance(frames, Iterator)
    frames.close()  # type: ignore[attr-defined]
    wait_until_only(before)


def test_a_decoder_that_dies_is_one_sentence(tmp_path: Path) -> None:
    long = write_black(tmp_path / "long", 640, 360, 100, 24)
    video = guarded_video(long, name="mine.mp4")
    before = settled()
    frames = video.frames()
    next(frames)
    (decoder,) = children() - before
    os.kill(decoder, signal.SIGKILL)
    with pytest.raises(LocaterError, match=r"mine.mp4 broke the program that decodes it"):
        list(frames)
    assert len(list(video.frames())) == 100


def test_a_killed_server_is_started_again(clip: Path) -> None:
    video = guarded_video(clip)
    (server,) = psutil.Process().children()
    server.kill()
    server.wait()
    assert len(list(video.frames())) == 20


def test_a_script_without_a_guard_reads_once(clip: Path, tmp_path: Path) -> None:
    """Processes of `multiprocessing` would run it again."""
    script = tmp_path / "script.py"
    script.write_text(
        "from locater.video.reader import open_source\n"
        f"print('frames', sum(1 for _ in open_source({str(clip)!r}).frames()))\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert run.stdout == "frames 20\n" and run.stderr == ""


def test_a_decoder_that_stands_still_is_ended(clip: Path) -> None:
    video = guarded_video(clip, Limits(stall_seconds=0.5), "mine.mp4")
    before = settled()
    frames = video.frames()
    next(frames)
    (decoder,) = children() - before
    os.kill(decoder, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(LocaterError, match=r"mine.mp4 takes too long to decode: nothing came"):
        list(frames)
    assert time.monotonic() - began < 10
    wait_until_only(before)


# ---- Limits ----------------------------------------------------------------------------------------------------------


def test_frames_of_16000_x_16000_are_refused_before_they_take_memory(tmp_path: Path) -> None:
    """One black frame of 256 megapixels in some hundred kilobytes took 6.1 GB."""
    path = write_black(tmp_path / "huge.mkv", 16000, 16000, 1, 24, "png", "monob")
    assert path.stat().st_size < 790_000
    with pytest.raises(LocaterError, match=r"frames of 16000 x 16000, which is 256.0 megapixels; the limit is 67.1"):
        open_source(path)
    with pytest.raises(LocaterError, match=r"cannot be decoded"):  # whatever a header says, its decoder knows the limit
        VideoFile(path, Bounds(pixels=10**6))


def test_8k_is_taken_and_on_a_page_told(tmp_path: Path) -> None:
    path = write_black(tmp_path / "clip", 7680, 4320, 1, 24)
    (frame,) = open_source(path).frames()
    assert frame.pixels.shape == (4320, 7680, 3)
    with pytest.raises(LocaterError, match=r"8k.mp4 has frames of 7680 x 4320, which is 33.2 megapixels; this page"):
        guarded_video(path, ON_A_PAGE, "8k.mp4")


def test_a_frame_that_needs_more_memory_than_there_is(tmp_path: Path) -> None:
    path = write_black(tmp_path / "clip", 4096, 2160, 2, 24)
    with pytest.raises(LocaterError, match=r"cannot be decoded|broke the program"):
        guarded_video(path, Limits(memory_bytes=2**24))


def test_two_hours_are_taken_and_on_a_page_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_black(tmp_path / "clip", 16, 16, 7200, 1, "mpeg4")
    assert open_source(path).info.frame_count == 7200
    with pytest.raises(LocaterError, match=r"film.mkv is 2.0 hours long; this page takes up to 10 minutes. Cut it"):
        guarded_video(path, ON_A_PAGE, "film.mkv")
    monkeypatch.setenv("LOCATER_LIMITS", "seconds=60")
    with pytest.raises(LocaterError, match=r"is 2.0 hours long; the limit is 1 minutes.*LOCATER_LIMITS=seconds=7200"):
        open_source(path)
    monkeypatch.setenv("LOCATER_LIMITS", "frames=7199")
    with pytest.raises(LocaterError, match=r"has 7,200 frames; the limit is 7,199"):
        open_source(path)


def test_limits_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCATER_LIMITS", "megapixels=200, gigabytes=8 stall_seconds=5")
    assert limits_of_environment() == Limits(pixels=200_000_000, memory_bytes=8 * 2**30, stall_seconds=5.0)
    for wrong in ("megapixel=3", "megapixels", "megapixels=x", "gigabytes=-1", "seconds=nan", "frames=inf"):
        monkeypatch.setenv("LOCATER_LIMITS", wrong)
        with pytest.raises(LocaterError, match="LOCATER_LIMITS has"):
            limits_of_environment()


# ---- Lists of other files --------------------------------------------------------------------------------------------

_SDP = (
    "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
)
_DASH = (
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
    "<Representation id='1'><BaseURL>{clip}</BaseURL></Representation></AdaptationSet></Period></MPD>"
)


@pytest.mark.parametrize("name", ["list.mp4", "list.m3u8", "list.ffconcat", "list.sdp", "list.mpd"])
@pytest.mark.parametrize(
    "content",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{clip}\n#EXT-X-ENDLIST\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nconcat:{clip}|{clip}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile {clip}\n",
        "ffconcat version 1.0\nfile clip.mp4\n",
        _DASH,
        _SDP,
    ],
    ids=["hls", "hls of a concat", "concat", "concat beside", "dash", "sdp"],
)
def test_lists_of_other_files_are_no_videos(clip: Path, tmp_path: Path, content: str, name: str) -> None:
    (tmp_path / "clip.mp4").write_bytes(clip.read_bytes())
    path = tmp_path / name
    path.write_text(content.format(clip=clip))
    with pytest.raises(LocaterError, match="is a list of other files; give the video itself"):
        open_source(path)


@pytest.mark.parametrize("content", ["RIFF garbage {clip}", ""], ids=["garbage", "empty"])
def test_what_is_said_of_an_upload_names_no_path_of_the_server(clip: Path, tmp_path: Path, content: str) -> None:
    path = tmp_path / "upload"
    path.write_text(content.format(clip=clip))
    with pytest.raises(LocaterError) as told:
        guarded_video(path, ON_A_PAGE, "list.mp4")
    assert str(told.value).startswith("list.mp4 is ") and str(tmp_path) not in str(told.value)


def test_a_pattern_in_a_name_is_that_name(tmp_path: Path) -> None:
    """FFmpeg would read frame000.png, frame001.png, ... for it."""
    for index in range(3):
        Image.fromarray(np.full((8, 8, 3), 80 * index, np.uint8)).save(tmp_path / f"frame{index:03}.png")
    with pytest.raises(LocaterError, match="There is no file"):
        open_source(tmp_path / "frame%03d.png")
    (tmp_path / "frame%03d.png").write_bytes((tmp_path / "frame002.png").read_bytes())
    (frame,) = open_source(tmp_path / "frame%03d.png").frames()
    assert frame.pixels.min() == frame.pixels.max() == 160


def test_an_mp4_whose_samples_lie_in_another_file(tmp_path: Path) -> None:
    """Its `dref` box names the file, which is there; nothing of it is read."""
    other = write_video(tmp_path / "other.mp4", 20)
    content = other.read_bytes()
    own = b"\x00\x00\x00\x0curl \x00\x00\x00\x01"  # the samples are in this file
    assert own in content and content.rindex(b"moov") > content.index(b"mdat")  # so growing it moves no sample
    url = str(other).encode() + b"\x00"
    outside = (12 + len(url)).to_bytes(4, "big") + b"url \x00\x00\x00\x00" + url
    grown = bytearray(content.replace(own, outside))
    for box in (b"moov", b"trak", b"mdia", b"minf", b"dinf", b"dref"):
        at = grown.index(box) - 4
        size = int.from_bytes(grown[at : at + 4], "big") + len(outside) - len(own)
        grown[at : at + 4] = size.to_bytes(4, "big")
    empty = bytes(len(content))  # where the samples are in the other file, here is nothing
    media, index = grown.index(b"mdat") + 4, grown.index(b"moov") - 4
    grown[media:index] = empty[: index - media]
    path = tmp_path / "pointing.mp4"
    path.write_bytes(grown)
    try:
        pixels = [frame.pixels for frame in open_source(path).frames()]
    except LocaterError:
        return  # nothing in it can be decoded, as it should be
    assert not any(np.array_equal(each, theirs.pixels) for each in pixels for theirs in VideoFile(other).frames())


# ---- Pictures --------------------------------------------------------------------------------------------------------


def picture_folder_with(folder: Path, name: str) -> Path:
    folder.mkdir()
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(folder / "0.png")
    return folder / name


def test_a_pipe_or_a_device_among_pictures_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(picture_folder_with(tmp_path / "a", "1.png"))
    picture_folder_with(tmp_path / "b", "1.png").symlink_to("/dev/zero")
    for folder in ("a", "b"):
        with pytest.raises(LocaterError, match=r"1.png is no plain file"):
            open_source(tmp_path / folder)
        with pytest.raises(LocaterError, match=r"1.png is no plain file"):
            open_source([tmp_path / folder / "0.png", tmp_path / folder / "1.png"])
        with pytest.raises(LocaterError, match=r"no plain file"):
            open_source(tmp_path / folder / "1.png")


def test_a_picture_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "frames").mkdir()
    Image.new("1", (9000, 9000)).save(tmp_path / "frames" / "0.png")
    assert (tmp_path / "frames" / "0.png").stat().st_size < 10**5
    with pytest.raises(LocaterError, match=r"frames of 9000 x 9000, which is 81.0 megapixels; the limit is 67.1"):
        open_source(tmp_path / "frames")
    monkeypatch.setenv("LOCATER_LIMITS", "megapixels=500 gigabytes=0.1")
    with pytest.raises(LocaterError, match=r"cannot be decoded in 0.1 GiB of memory.*LOCATER_LIMITS=gigabytes=1"):
        list(open_source(tmp_path / "frames").frames())
