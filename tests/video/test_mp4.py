"""Pictures in a video file's colours: FFmpeg's own, whoever converts them, with its tables made once."""

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from locater.records import Pixels
from locater.video import mp4
from locater.video.mp4 import H264, MATTE, PRORES_4444, Mp4File


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


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[VideoReformatter]:
    """FFmpeg's tables that are made from now on, on threads that have none yet."""
    tables: list[VideoReformatter] = []

    def counted() -> VideoReformatter:
        tables.append(VideoReformatter())
        return tables[-1]

    monkeypatch.setattr(mp4, "VideoReformatter", counted)
    return tables


def on_new_threads(count: int, work: Callable[[], None]) -> None:
    both = threading.Barrier(count)

    def meet_and_work() -> None:
        both.wait()
        work()

    threads = [threading.Thread(target=meet_and_work) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_each_thread_makes_ffmpegs_tables_once(tmp_path: Path, made: list[VideoReformatter]) -> None:
    file = Mp4File(tmp_path / "a.mp4", 24.0)

    def convert() -> None:
        for seed in range(4):
            file.converted(noise(64, 96, seed))

    on_new_threads(2, convert)
    assert len(made) == 2


def test_the_files_of_a_thread_share_its_tables(tmp_path: Path, made: list[VideoReformatter]) -> None:
    files = [
        Mp4File(tmp_path / f"{number}.mp4", 24.0, encoding=encoding) for number, encoding in enumerate((H264, MATTE))
    ]
    pictures = [noise(64, 96, seed) for seed in range(4)]
    found: list[list[bytes]] = []

    def convert() -> None:
        frames = [file.converted(picture) for picture in pictures for file in files]
        found.extend(planes(each) for each in frames)

    on_new_threads(1, convert)
    assert len(made) == 1
    apart = [planes(mp4._Conversion(H264, (64, 96, 3)).of(picture)) for picture in pictures for _ in files]
    assert found == apart


def test_a_thread_keeps_tables_of_two_kinds_of_pictures_at_most(tmp_path: Path, made: list[VideoReformatter]) -> None:
    file, with_alpha = Mp4File(tmp_path / "a.mp4", 24.0), Mp4File(tmp_path / "b.mov", 24.0, encoding=PRORES_4444)

    def convert() -> None:
        for _ in range(3):
            file.converted(noise(64, 96, 0))
            with_alpha.converted(np.zeros((64, 96, 4), np.uint8))
        file.converted(noise(32, 48, 0))
        with_alpha.converted(np.zeros((64, 96, 4), np.uint8))  # used last but one
        file.converted(noise(64, 96, 0))

    on_new_threads(1, convert)
    assert len(made) == 4


@pytest.mark.parametrize(("width", "is_sliced"), [(640, False), (2560, True)])
def test_the_encoders_threads_share_pictures_only_where_those_are_large(
    tmp_path: Path, width: int, is_sliced: bool
) -> None:
    with Mp4File(tmp_path / "a.mp4", 24.0, threads=4) as file:
        for index in range(2):
            file.write(noise(1440 * width // 2560, width, index), index / 24)
    told = (tmp_path / "a.mp4").read_bytes()  # x264 writes its settings into each file
    assert f"sliced_threads={int(is_sliced)}".encode() in told
