"""Videos of the mp4 family, one picture at a time, at the pictures' own times: H.264, and ProRes with alpha."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import av.error
import numpy as np
from av.codec.context import ThreadType
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from av.video.stream import VideoStream

from locater.errors import LocaterError
from locater.records import Pixels
from locater.video.guarded.sound_copy import SoundCopy
from locater.video.sound import Sound, open_sound

_TICKS_PER_SECOND = 90_000  # MPEG's clock: fine enough to keep any camera's times
_BT709 = 1  # H.273's code for HD colours, in all three fields
# Of pictures above 1080p x264 is to hold few at a time: at 4K the usual ones are 560 MB, and these 200. Of smaller ones
# each of its threads has one: PyAV's default is slices of one picture, which leave most of sixteen cores waiting.
_LARGE = 1920 * 1088
_FEW_FRAMES = {"tune": "zerolatency"}
# In the macroblock tree x264's AVX-512 code reads past the end of a row of macroblocks unless eight divide their
# number: a file's bytes follow from what lay in memory. Without the tree they follow from the pictures alone.
_MACROBLOCK, _BLOCKS_AT_ONCE = 16, 8
_NO_TREE = {"x264-params": "mbtree=0"}
_KEPT = 2  # conversions of a thread: a run's pictures have one size, with alpha or without; of 4K each holds 24 MB


@dataclass(frozen=True)
class Encoding:
    """How pictures are stored."""

    codec: str  # FFmpeg's name of the encoder
    options: Mapping[str, str]
    stored_as: str  # pixel format in the file
    given_as: str = "rgb24"  # and of the pictures


# veryfast: a few per cent larger than the default and several times faster beside a busy network
H264 = Encoding("libx264", {"crf": "20", "preset": "veryfast"}, "yuv420p")
# Nearly lossless: black and white stay apart in every pixel, and `crf` 0 would be a profile that few programs play.
MATTE = Encoding("libx264", {"crf": "1", "preset": "veryfast"}, "yuv420p")
# Its alpha is lossless. VP9's is not, and FFmpeg's own decoder drops it.
PRORES_4444 = Encoding(
    "prores_ks", {"profile": "4444", "alpha_bits": "16", "vendor": "apl0"}, "yuva444p10le", given_as="rgba"
)


class Mp4File:
    """A video file, by default one that browsers play, finished by leaving its `with` block without an error."""

    def __init__(
        self,
        path: Path,
        frames_per_second: float | None,
        threads: int = 0,
        encoding: Encoding = H264,
        sound_of: SoundCopy | None = None,
    ) -> None:
        self._path = path
        self._threads = threads  # 0: as many as the machine has; how the work is divided shows in the file's bytes
        self._encoding = encoding
        self._sound_of = sound_of
        self._usual_step = 1 / (frames_per_second or 24.0)
        self._container: OutputContainer | None = None
        self._stream: VideoStream | None = None
        self._sound: Sound | None = None
        self._last_tick = -1

    def __enter__(self) -> Self:
        return self

    def write(self, pixels: Pixels, timestamp: float) -> None:
        """Encode the next picture, shown `timestamp` seconds from the beginning."""
        self.write_converted(self.converted(pixels), timestamp)

    def converted(self, pixels: Pixels) -> VideoFrame:
        """A picture in the colours of the file, for `write_converted`; any thread may make any frame's."""
        picture = even_sized(pixels) if self._encoding.stored_as == "yuv420p" else pixels
        return _CONVERSIONS.for_(self._encoding, picture.shape).of(picture)

    def write_converted(self, frame: VideoFrame, timestamp: float) -> None:
        """Encode the next picture, which `converted` made."""
        container, stream = self._opened(frame.width, frame.height)
        # Two frames in one tick would stop the muxer, so the later one moves on by a hundred-thousandth of a second.
        self._last_tick = max(self._last_tick + 1, round(timestamp * _TICKS_PER_SECOND))
        frame.pts = self._last_tick
        frame.time_base = Fraction(1, _TICKS_PER_SECOND)
        frame.duration = max(1, round(self._usual_step * _TICKS_PER_SECOND))  # the last frame's length rests on it
        with _encoding(self._path):
            container.mux(stream.encode(frame))
            if self._sound is not None:
                self._sound.copy_until(timestamp)

    def _opened(self, width: int, height: int) -> tuple[OutputContainer, VideoStream]:
        if self._container is None or self._stream is None:
            with _encoding(self._path):
                # faststart: the index goes first, so that a browser plays before the whole file is there
                self._container = av.open(str(self._path.absolute()), "w", options={"movflags": "+faststart"})
                self._stream = self._added_stream(self._container, width, height)
                audible = None if self._sound_of is None else self._sound_of.file
                if audible is not None:
                    self._sound = open_sound(audible, self._container)
        return self._container, self._stream

    def _added_stream(self, container: OutputContainer, width: int, height: int) -> VideoStream:
        codec = self._encoding.codec
        if codec not in av.codecs_available:
            raise LocaterError(f"This PyAV has no {codec}; install PyAV's own wheel, or ask for png or rle instead.")
        rate = Fraction(1 / self._usual_step).limit_denominator(1001)
        stream = container.add_stream(codec, rate=rate, options=self._options(width, height))
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = width, height, self._encoding.stored_as
        context = stream.codec_context
        context.thread_count = self._threads
        if codec == "libx264" and width * height <= _LARGE:
            context.thread_type = ThreadType.FRAME
        context.time_base = Fraction(1, _TICKS_PER_SECOND)
        context.colorspace = context.color_primaries = context.color_trc = context.color_range = _BT709
        return stream

    def _options(self, width: int, height: int) -> dict[str, str]:
        options = dict(self._encoding.options)
        if self._encoding.codec == "libx264":
            if width * height > _LARGE:
                options |= _FEW_FRAMES
            if -(-width // _MACROBLOCK) % _BLOCKS_AT_ONCE:
                options |= _NO_TREE
        return options

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._container is None or self._stream is None:
            return
        if kind is not None:
            with suppress(av.error.FFmpegError):  # the error on its way says more than this unfinished file's
                self._container.close()
            self._close_sound()
            return
        try:
            with _encoding(self._path), self._container:
                self._container.mux(self._stream.encode(None))
                if self._sound is not None:
                    self._sound.finish()
        finally:
            self._close_sound()

    def _close_sound(self) -> None:
        if self._sound is not None:
            self._sound.close()


class _Conversion:
    """Pictures of one shape (H, W, channels) in the colours of a file, one after the other, on one thread.

    The memory that a picture is copied into and FFmpeg's tables are made once: they take twice as long as a picture.
    """

    def __init__(self, encoding: Encoding, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._stored_as = encoding.stored_as
        self._given = VideoFrame(shape[1], shape[0], encoding.given_as)
        self._reformatter = VideoReformatter()

    def of(self, picture: Pixels) -> VideoFrame:
        """A picture as a frame of its own."""
        height, width, channels = self.shape
        plane = self._given.planes[0]
        lines = np.frombuffer(memoryview(plane), dtype=np.uint8).reshape(height, plane.line_size)
        lines[:, : width * channels] = picture.reshape(height, -1)
        frame = self._reformatter.reformat(
            self._given,
            format=self._stored_as,
            dst_colorspace=Colorspace.ITU709,
            dst_color_range=ColorRange.MPEG,
            threads=1,  # others convert other pictures
        )
        if channels == 4:
            _set_alpha(frame, picture[..., 3])
        return frame


class _Conversions(threading.local):
    """A thread's conversions, for all its files together."""

    def __init__(self) -> None:
        self._last_used: dict[tuple[str, str, tuple[int, ...]], _Conversion] = {}  # the latest at the end

    def for_(self, encoding: Encoding, shape: tuple[int, ...]) -> _Conversion:
        """That of pictures (H, W, channels) into the colours of such a file."""
        key = encoding.given_as, encoding.stored_as, shape
        self._last_used[key] = found = self._last_used.pop(key, None) or _Conversion(encoding, shape)
        if len(self._last_used) > _KEPT:
            del self._last_used[next(iter(self._last_used))]
        return found


_CONVERSIONS = _Conversions()


def even_sized(picture: Pixels) -> Pixels:
    """The picture with its last row or column repeated where a side is odd: H.264's 4:2:0 needs even sides."""
    height, width = picture.shape[:2]
    if height % 2 == 0 and width % 2 == 0:
        return picture
    return np.pad(picture, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _set_alpha(frame: VideoFrame, alpha: "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]") -> None:
    """Write alpha (H, W) into the frame's fourth plane, ten bits each, exactly.

    FFmpeg's own conversion, now and then, gets eight neighbours wrong in frames whose sides are no multiples of 16.
    """
    plane = frame.planes[3]
    lines = np.zeros((plane.height, plane.line_size // 2), dtype="<u2")
    lines[:, : plane.width] = alpha.astype(np.uint32) * 1023 // 255
    plane.update(lines.tobytes())


@contextmanager
def _encoding(path: Path) -> Iterator[None]:
    """Lets the system's errors (a full disk) pass, and turns the encoder's own into a sentence."""
    try:
        yield
    except av.error.FFmpegError as error:
        if isinstance(error, OSError):
            raise
        raise LocaterError(f"Cannot encode {path.name}: {error.strerror}; ask for png or rle instead.") from error
