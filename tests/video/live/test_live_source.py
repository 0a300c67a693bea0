"""A live source never queues: who is slow gets the newest frame and never an old one."""

import threading
import time
from pathlib import Path

import pytest

from locater.errors import LocaterError
from locater.video.live.source import LiveSource
from tests.support.making_videos import write_video


def test_frames_are_dropped_and_never_queued(tmp_path: Path) -> None:
    source = LiveSource(str(write_video(tmp_path / "clip.mp4", 36)))  # a second and a half
    assert (source.info.width, source.info.height, source.is_repeatable) == (96, 64, False)
    frames, ages = [], []
    for frame in source.frames():
        ages.append(source.age(frame))
        frames.append(frame)
        time.sleep(0.2)  # five times slower than the frames come
    assert [frame.index for frame in frames] == list(range(len(frames)))
    assert 4 <= len(frames) <= 10
    assert source.arrived == 36 and source.dropped == 36 - len(frames)
    # In a queue they would become older and older; the newest is as old as the time between two frames.
    assert sorted(ages)[len(ages) // 2] < 0.15
    times = [frame.timestamp for frame in frames]
    assert times == sorted(times) and times[-1] > 1.0


def test_a_file_is_played_at_its_own_speed(tmp_path: Path) -> None:
    source = LiveSource(str(write_video(tmp_path / "clip.mp4", 13)))
    began = time.monotonic()
    count = sum(1 for _ in source.frames())
    assert time.monotonic() - began >= 0.5 and count + source.dropped == 13
    with pytest.raises(LocaterError, match="being read already"):
        source.frames()


def test_closing_ends_the_frames(tmp_path: Path) -> None:
    source = LiveSource(str(write_video(tmp_path / "clip.mp4", 240)))
    frames = source.frames()
    next(frames)
    threading.Timer(0.1, source.close).start()
    assert sum(1 for _ in frames) < 100


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nowhere.mp4", "There is no file nowhere.mp4; give a camera's number"),
        ("file:///etc/passwd", "is no stream's address"),
        ("concat:a|b", "There is no file"),
        ("rtsp://127.0.0.1:9/x", "Cannot open rtsp://127.0.0.1:9/x: connection refused"),
        ("77", "Cannot open 77: "),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(address: str, told: str) -> None:
    with pytest.raises(LocaterError) as error:
        LiveSource(address)
    assert told in str(error.value)
