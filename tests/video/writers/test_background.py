"""Writers in the background: the plain way's files, in order, bounded, and with every error told."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from locater.records import FrameMasks, VideoInfo
from locater.video.writer import FORMATS, open_writers
from locater.video.writers import background
from locater.video.writers.background import BackgroundWriters
from locater.video.writers.writing import Output, Writer, Writers
from tests.support.making_videos import moving_masks, result

INFO = VideoInfo("clip.mp4", 96, 64, frames_per_second=24.0)
NAMES = ("the left box", "the right box")
OUTPUT = Output(Path(), INFO, NAMES, has_images=False)


class Listed(Writer):
    """Notes what happens to it; preparing takes longer for some frames than for others."""

    def __init__(self, delay: Callable[[int], float] = lambda _: 0.0) -> None:
        super().__init__(OUTPUT)
        self.delay = delay
        self.written: list[int] = []
        self.is_finished = False

    def write(self, marked: FrameMasks) -> None:
        self.written.append(marked.frame.index)

    def prepared(self, marked: FrameMasks) -> Callable[[], None]:
        time.sleep(self.delay(marked.frame.index))
        return lambda: self.write(marked)

    def finish(self) -> None:
        self.is_finished = True


class Failing(Listed):
    """A disk that is full at the third frame."""

    def write(self, marked: FrameMasks) -> None:
        if marked.frame.index == 2:
            raise OSError(28, "No space left on device")
        super().write(marked)


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("locater-")]


def in_plain_order(writers: Writers, frames: list[FrameMasks]) -> None:
    for frame in frames:
        writers.write(frame)


def prepared_backwards(writers: Writers, frames: list[FrameMasks]) -> None:
    """The last frame first, as a pool of threads may; each is added in its turn."""
    for writer in writers.each:
        for turn in [writer.prepared(frame) for frame in reversed(frames)][::-1]:
            turn()


@pytest.mark.filterwarnings("ignore::locater.video.writers.pictures.OverlapWarning")
def test_files_are_those_of_the_plain_way(tmp_path: Path) -> None:
    frames = [result(index, moving_masks(index)) for index in range(24)]
    made: list[dict[str, bytes]] = []
    for name, write in (("plain", in_plain_order), ("backwards", prepared_backwards), ("background", in_plain_order)):
        folder = tmp_path / name
        folder.mkdir()
        plain = open_writers(list(FORMATS), folder, INFO, NAMES)
        with BackgroundWriters(plain) if name == "background" else plain as writers:
            write(writers, frames)  # type: ignore[arg-type]  # both have `write`
        files = [path for path in folder.rglob("*") if path.is_file()]
        made.append({str(path.relative_to(folder)): path.read_bytes() for path in files})
    assert made[0].keys() == made[1].keys() == made[2].keys() and len(made[0]) > 100
    for name, content in made[0].items():
        assert content == made[1][name] == made[2][name], name


def test_frames_keep_their_order_whatever_preparing_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    ready: list[int] = []

    class Uneven(Listed):
        def prepared(self, marked: FrameMasks) -> Callable[[], None]:
            turn = super().prepared(marked)
            ready.append(marked.frame.index)
            return turn

    writer = Uneven(lambda index: 0.05 if index % 8 == 0 else 0.0)
    with BackgroundWriters(Writers([writer])) as writers:
        for index in range(32):
            writers.write(result(index, moving_masks(index)))
    assert writer.written == list(range(32)) and writer.is_finished
    assert ready != sorted(ready), "nothing was prepared out of turn, so the test shows nothing"
    assert threads() == []


def test_what_goes_wrong_comes_out_and_nothing_is_finished() -> None:
    failing, beside, fed = Failing(), Listed(), 0
    with (
        pytest.raises(OSError, match="No space left") as told,
        BackgroundWriters(Writers([failing, beside])) as writers,
    ):
        for index in range(1000):
            writers.write(result(index, moving_masks(index)))
            fed += 1
    assert told.value.errno == 28
    assert failing.written == [0, 1], "nothing is written after it"
    assert fed < 100 and len(beside.written) < 100, "the feeder hears of it soon"
    assert not failing.is_finished and not beside.is_finished
    assert threads() == []


def test_what_goes_wrong_with_the_last_frame_comes_out_at_the_end() -> None:
    failing = Failing()
    with pytest.raises(OSError, match="No space left"), BackgroundWriters(Writers([failing])) as writers:
        for index in range(3):
            writers.write(result(index, moving_masks(index)))
    assert not failing.is_finished


def test_an_error_of_the_feeder_leaves_the_files_unfinished() -> None:
    writer = Listed(lambda _: 0.02)
    with pytest.raises(KeyError, match="the network failed"), BackgroundWriters(Writers([writer])) as writers:
        for index in range(8):
            writers.write(result(index, moving_masks(index)))
        raise KeyError("the network failed")
    assert not writer.is_finished and len(writer.written) < 8
    assert threads() == []


def test_the_feeder_waits_for_slow_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that wait are bounded by their bytes, or a slow disk would fill the memory."""
    frame = result(0, moving_masks(0))
    monkeypatch.setattr(background, "_WAITING_BYTES", 3 * (frame.frame.pixels.nbytes + frame.masks.nbytes))
    may_write, given = threading.Event(), []

    class Slow(Listed):
        def write(self, marked: FrameMasks) -> None:
            may_write.wait(10)
            super().write(marked)

    writer = Slow()

    def feed() -> None:
        with BackgroundWriters(Writers([writer])) as writers:
            for index in range(10):
                writers.write(result(index, moving_masks(index)))
                given.append(index)

    feeder = threading.Thread(target=feed)
    feeder.start()
    time.sleep(0.3)
    assert given == [0, 1, 2], "the fourth has no room yet"
    may_write.set()
    feeder.join(10)
    assert writer.written == list(range(10))


def test_without_writers_nothing_waits() -> None:
    with BackgroundWriters(Writers([])) as writers:
        for index in range(40):
            writers.write(result(index, moving_masks(index)))
