"""Clips that people upload: decoded elsewhere, within bounds, whatever is in them."""

import os
import signal
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import psutil
import pytest

from locater.errors import LocaterError
from locater.video.file_source import VideoFile
from locater.web.segment.decoding import ChildVideo, Previews
from locater.web.segment.limits import Limits


def write(path: Path, width: int, height: int, count: int, rate: int, codec: str = "libx264") -> Path:
    """A black clip."""
    options = {"preset": "ultrafast"} if codec == "libx264" else {}
    with av.open(str(path), "w", format="matroska") as container:
        stream = container.add_stream(codec, rate=Fraction(rate), options=options)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        frame = av.VideoFrame(width, height, "yuv420p")
        for plane in frame.planes:
            plane.update(bytes(plane.buffer_size))
        for index in range(count):
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def test_frames_are_the_readers_own(clip: Path) -> None:
    child, plain = ChildVideo(clip, "mine", Limits()), VideoFile(clip)
    assert child.info.name == "mine" and child.info.frame_count == 20
    for start, every in ((0, 1), (3, 4)):
        pairs = list(zip(child.frames(start, every), plain.frames(start, every), strict=True))
        assert pairs
        for ours, theirs in pairs:
            assert (ours.index, ours.timestamp) == (theirs.index, theirs.timestamp)
            assert np.array_equal(ours.pixels, theirs.pixels)


def children() -> set[int]:
    return {process.pid for process in psutil.Process().children(recursive=True)}


def test_a_reading_that_is_given_up_leaves_no_process(clip: Path) -> None:
    video = ChildVideo(clip, "mine", Limits())
    before = children()
    frames = video.frames()
    next(frames)
    assert len(children() - before) == 1
    assert isinstance(frames, Iterator)
    frames.close()  # type: ignore[attr-defined]
    assert children() == before


def test_a_decoder_that_dies_is_one_sentence(clip: Path) -> None:
    video = ChildVideo(clip, "mine.mp4", Limits())
    before = children()
    frames = video.frames()
    next(frames)
    (decoder,) = children() - before
    os.kill(decoder, signal.SIGKILL)
    with pytest.raises(LocaterError, match=r"mine.mp4 broke the program that decodes it"):
        list(frames)
    assert len(list(video.frames())) == 20


def test_8k_frames_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "clip", 7680, 4320, 1, 24)
    with pytest.raises(LocaterError, match=r"8k.mp4 has frames of 7680 x 4320, which is 33.2 megapixels"):
        ChildVideo(path, "8k.mp4", Limits())


def test_a_frame_that_needs_more_memory_than_there_is(tmp_path: Path) -> None:
    path = write(tmp_path / "clip", 4096, 2160, 2, 24)
    with pytest.raises(LocaterError, match=r"cannot be decoded|broke the program"):
        ChildVideo(path, "large.mp4", Limits(memory_bytes=2**24))


def test_two_hours_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "clip", 16, 16, 7200, 1, "mpeg4")
    with pytest.raises(LocaterError, match=r"film.mkv is 2.0 hours long; this page takes clips of up to 10 minutes"):
        ChildVideo(path, "film.mkv", Limits())
    assert ChildVideo(path, "film.mkv", Limits(seconds=7300)).info.frame_count == 7200


@pytest.mark.parametrize(
    "content",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{clip}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile {clip}\n",
        "ffconcat version 1.0\nfile clip.mp4\n",
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
        "<Representation id='1'><BaseURL>{clip}</BaseURL></Representation></AdaptationSet></Period></MPD>",
        "RIFF garbage {clip}",
        "",
    ],
    ids=["hls", "concat", "concat beside", "dash", "garbage", "empty"],
)
def test_lists_of_other_files_and_garbage_are_no_clips(clip: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "clip.mp4").write_bytes(clip.read_bytes())
    path = tmp_path / "upload"
    path.write_text(content.format(clip=clip))
    with pytest.raises(LocaterError) as told:
        ChildVideo(path, "list.mp4", Limits())
    assert str(told.value).startswith("list.mp4 is ") and str(tmp_path) not in str(told.value)


def test_previews_are_found_by_their_frame(clip: Path, tmp_path: Path) -> None:
    previews = Previews(tmp_path / "previews")
    for size in ChildVideo(clip, "mine", Limits()).previews(previews.path):
        previews.add(size)
    pictures = [previews.picture(index) for index in range(len(previews))]
    assert len(pictures) == 20 and all(each.startswith(b"\xff\xd8") and each.endswith(b"\xff\xd9") for each in pictures)
    assert len(set(pictures)) == 20
    previews.close()
