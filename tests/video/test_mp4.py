"""Pictures in a video file's colours: FFmpeg's own, whoever converts them, with its tables made once."""

import threading
from pathlib import Path

import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from locater.records import Pixels
from locater.video import mp4
from locater.video.mp4 import Mp4File


def planes(frame: VideoFrame) -> list[bytes]:
    """What is seen of each plane, without the ends of its lines."""
    lines = (
        (np.frombuffer(memoryview(each), np.uint8).reshape(each.height, each.line_size), each.width)
        for each in frame.planes
    )
    return [line[:, :width].tobytes() for line, width in lines]


def noise(height: int, width: int, seed: int) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.mark.parametrize(("height", "width"), [(64, 96), (2, 2), (50, 98)])
def test_a_file_has_ffmpegs_own_colours_of_every_picture(tmp_path: Path, height: int, width: int) -> None:
    pictures = [noise(height, width, seed) for seed in range(3)]
    file = Mp4File(tmp_path / "a.mp4", 24.0)
    converted = [file.converted(each) for each in pictures]  # none takes another one's memory
    for picture, ours in zip(pictures, converted, strict=True):
        plain = VideoFrame.from_ndarray(picture, "rgb24").reformat(
            format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG"
        )
        assert planes(ours) == planes(plain)
        assert (ours.colorspace, ours.color_range) == (plain.colorspace, plain.color_range)


def test_pictures_of_another_size_are_converted_at_their_own(tmp_path: Path) -> None:
    file = Mp4File(tmp_path / "a.mp4", 24.0)
    sizes = [(64, 96), (32, 48), (64, 96)]
    assert [(each.height, each.width) for each in (file.converted(noise(*size, 0)) for size in sizes)] == sizes


def test_each_thread_makes_ffmpegs_tables_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted() -> VideoReformatter:
        made.append(threading.get_ident())
        return VideoReformatter()

    monkeypatch.setattr(mp4, "VideoReformatter", counted)
    file = Mp4File(tmp_path / "a.mp4", 24.0)
    both = threading.Barrier(2)

    def convert() -> None:
        both.wait()
        for seed in range(4):
            file.converted(noise(64, 96, seed))

    threads = [threading.Thread(target=convert) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 2
