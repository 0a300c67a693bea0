"""A video written to a pipe as it is made, for a player at the other end: H.264 in an MPEG transport stream."""

from fractions import Fraction
from types import TracebackType
from typing import BinaryIO, Self

import av
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from locater.records import Pixels
from locater.video.mp4 import even_sized

_TICKS_PER_SECOND = 90_000  # MPEG's clock


class PipedVideo:
    """Pictures to `file`, each on its way as soon as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._container: OutputContainer | None = None
        self._stream: VideoStream | None = None
        self._last_tick = -1

    def __enter__(self) -> Self:
        return self

    def write(self, pixels: Pixels, timestamp: float) -> None:
        """Encode the next picture, shown `timestamp` seconds from the beginning."""
        picture = even_sized(pixels)
        if self._container is None or self._stream is None:
            self._container = av.open(self._file, "w", format="mpegts", options={"flush_packets": "1"})
            self._stream = self._container.add_stream(
                "libx264", rate=30, options={"preset": "veryfast", "tune": "zerolatency", "g": "30"}
            )
            self._stream.width, self._stream.height, self._stream.pix_fmt = (
                picture.shape[1],
                picture.shape[0],
                "yuv420p",
            )
            self._stream.codec_context.time_base = Fraction(1, _TICKS_PER_SECOND)
        frame = VideoFrame.from_ndarray(picture, format="rgb24")
        self._last_tick = max(self._last_tick + 1, round(timestamp * _TICKS_PER_SECOND))
        frame.pts, frame.time_base = self._last_tick, Fraction(1, _TICKS_PER_SECOND)
        self._container.mux(self._stream.encode(frame))
        self._file.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._container is None or self._stream is None or kind is not None:
            return
        with self._container:
            self._container.mux(self._stream.encode(None))
