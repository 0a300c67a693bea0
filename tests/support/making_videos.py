"""Real video files and results for the tests, made with PyAV."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import torch
from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame

from locater.records import Frame, FrameResult, Pixels, VideoState

CLOCK = 1000  # ticks a second


def picture(index: int, width: int = 96, height: int = 64) -> Pixels:
    """Noise that moves with the index, with a bright red quarter at the top left."""
    pixels = np.random.default_rng(index).integers(0, 50, (height, width, 3)).astype(np.uint8)
    pixels[: height // 2, : width // 2] = (250, 10, 10)
    return pixels


def write_video(
    path: Path,
    count: int = 30,
    width: int = 96,
    height: int = 64,
    codec: str = "libx264",
    pix_fmt: str = "yuv420p",
    ticks: Sequence[int] | None = None,
    movflags: str = "",
    format_name: str | None = None,
) -> Path:
    """A file of `count` pictures at 24 fps, or at the given milliseconds."""
    options = {"movflags": movflags} if movflags else {}
    with av.open(str(path), "w", format=format_name, options=options) as container:
        stream = container.add_stream(codec, rate=24)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, pix_fmt
        stream.codec_context.time_base = Fraction(1, CLOCK)
        if count == 0:
            container.start_encoding()
        for index in range(count):
            frame = VideoFrame.from_ndarray(picture(index, width, height), format="rgb24")
            frame.pts = ticks[index] if ticks else round(index * CLOCK / 24)
            frame.time_base = Fraction(1, CLOCK)
            container.mux(stream.encode(frame))
        if count:
            container.mux(stream.encode(None))
    return path


def write_sound(path: Path) -> Path:
    """A file with half a second of silence and no picture."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=16000)
        assert isinstance(stream, av.AudioStream)
        for index in range(8):
            frame = AudioFrame.from_ndarray(np.zeros((1, 1024), dtype=np.float32), format="fltp", layout="mono")
            frame.rate, frame.pts = 16000, 1024 * index
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def write_video_with_sound(path: Path, codec: str = "aac", delay: float = 0.0) -> Path:
    """A clip at 24 fps with a 440 Hz tone that starts after half a second; everything begins `delay` seconds late."""
    rate, seconds = 48000, 1.0
    with av.open(str(path), "w") as container:
        pictures = container.add_stream("libx264", rate=24)
        assert isinstance(pictures, av.VideoStream)
        pictures.width, pictures.height, pictures.pix_fmt = 96, 64, "yuv420p"
        pictures.codec_context.time_base = Fraction(1, CLOCK)
        sound = container.add_stream(codec, rate=rate, layout="mono")
        assert isinstance(sound, av.AudioStream)
        for index in range(round(seconds * 24)):
            frame = VideoFrame.from_ndarray(picture(index), format="rgb24")
            frame.pts, frame.time_base = round((index / 24 + delay) * CLOCK), Fraction(1, CLOCK)
            container.mux(pictures.encode(frame))
        times = np.arange(round(seconds * rate)) / rate
        tone = (np.sin(2 * np.pi * 440 * times) * (times >= 0.5) * 16000).astype(np.int16)
        for start in range(0, len(tone), 1024):
            samples = AudioFrame.from_ndarray(tone[None, start : start + 1024], format="s16", layout="mono")
            samples.rate, samples.time_base = rate, Fraction(1, rate)
            samples.pts = start + round(delay * rate)
            container.mux(sound.encode(samples))
        container.mux(pictures.encode(None))
        container.mux(sound.encode(None))
    return path


def heard(path: Path) -> tuple[str, float, float]:
    """The codec of a file's sound, when its tone starts after the first picture, and the sound's length, in seconds."""
    with av.open(str(path)) as container:
        first = next(container.decode(video=0))
        assert first.time is not None
        begins = first.time
    with av.open(str(path)) as container:
        stream = container.streams.audio[0]
        values, times = [], []
        for frame in container.decode(stream):
            assert frame.time is not None
            values.append(np.abs(frame.to_ndarray().astype(np.float64)).max(axis=0))
            times.append(frame.time + np.arange(len(values[-1])) / frame.rate)
        loudness, time = np.concatenate(values), np.concatenate(times)
        starts = time[int(np.argmax(loudness > loudness.max() / 2))]
        return stream.codec_context.name, float(starts - begins), float(time[-1] - time[0])


def with_matrix(source: Path, target: Path, matrix: tuple[int, int, int, int]) -> Path:
    """A copy of an mp4 whose track header carries a, b, c, d of a display matrix, as a phone writes it."""
    content = bytearray(source.read_bytes())
    start = content.index(b"tkhd") + 4
    assert content[start] == 0, "a version 0 header: 4 + 20 bytes of flags, times and length, then 16 of layers"
    place = start + 4 + 20 + 16
    a, b, c, d = (value << 16 for value in matrix)
    content[place : place + 36] = np.array([a, b, 0, c, d, 0, 0, 0, 1 << 30], dtype=">i4").tobytes()
    target.write_bytes(content)
    return target


def result(
    index: int,
    masks: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
    timestamp: float | None = None,
    soft: np.ndarray[tuple[int, ...], np.dtype[np.float32]] | None = None,
    name: str | None = None,
) -> FrameResult:
    """One frame's result over a made picture."""
    count, height, width = masks.shape
    cells = torch.zeros(count, 1, 1)
    return FrameResult(
        frame=Frame(index, index / 24 if timestamp is None else timestamp, picture(index, width, height), name),
        masks=masks,
        soft_masks=soft,
        presence=tuple(0.5 + 0.1 * number for number in range(count)),
        word_attention=((),) * count,
        state=VideoState(cells, cells.clone(), index + 1, False, ("",) * count),
    )


def moving_masks(
    index: int, count: int = 2, width: int = 96, height: int = 64
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Boxes that move to the right, one an expression, overlapping a little."""
    masks = np.zeros((count, height, width), dtype=np.bool_)
    for number in range(count):
        left = 4 + index % 20 + 12 * number
        masks[number, 8 + 6 * number : 30 + 6 * number, left : left + 20] = True
    return masks
