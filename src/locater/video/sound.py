"""A video file's sound, carried over into another file beside its pictures."""

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path

import av
import av.error
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet

from locater.video.file_source import open_container

_PLAYED_FROM_MP4 = frozenset({"aac", "mp3", "opus", "flac"})  # by browsers; any other becomes AAC
_RATES_OF_AAC = frozenset({8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000})

log = logging.getLogger(__name__)


class Sound:
    """The first sound stream of a file on its way into `target`, whose header is not yet written."""

    def __init__(self, path: Path, source: InputContainer, stream: AudioStream, target: OutputContainer) -> None:
        self._path = path
        self._source = source
        self._stream = stream
        self._target = target
        self._is_copied = stream.codec_context.name in _PLAYED_FROM_MP4
        if self._is_copied:
            self._written: AudioStream = target.add_stream_from_template(stream)
        else:
            rate = stream.rate if stream.rate in _RATES_OF_AAC else 48000
            self._written = target.add_stream(
                "aac", rate=rate, layout="mono" if stream.layout.nb_channels == 1 else "stereo"
            )
        # The pictures' times count from the first picture, so the sound's must too; without any they do already.
        starts = [(each.start_time or 0) * (each.time_base or Fraction(0)) for each in source.streams.video[:1]]
        self._starts_at = starts[0] if starts else Fraction(0)
        self._packets = self._read()
        self._next = next(self._packets, None)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to hand on."""
        return self._next is None

    def copy_until(self, seconds: float) -> None:
        """Hand on what sounds before this time."""
        while self._next is not None and self._time(self._next) < seconds:
            self._write(self._next)
            self._next = next(self._packets, None)

    def finish(self, seconds: float = math.inf) -> None:
        """Hand on what is left, up to this time, and what the encoder still holds."""
        self.copy_until(seconds)
        if not self._is_copied:
            self._target.mux(self._written.encode(None))

    def close(self) -> None:
        """Let go of the file."""
        self._source.close()

    def _read(self) -> "Iterator[Packet[AudioStream]]":
        packets = self._source.demux(self._stream)
        while True:
            try:
                packet = next(packets, None)
            except av.error.FFmpegError:
                log.warning("%s: its sound breaks off early.", self._path)
                return
            if packet is None:
                return
            if packet.dts is not None:  # the last one of a file is empty
                yield packet

    def _time(self, packet: "Packet[AudioStream]") -> float:
        ticks = packet.dts if packet.pts is None else packet.pts
        assert ticks is not None and packet.time_base is not None
        return float(ticks * packet.time_base - self._starts_at)

    def _write(self, packet: "Packet[AudioStream]") -> None:
        assert packet.time_base is not None and packet.dts is not None
        delay = round(self._starts_at / packet.time_base)
        if self._is_copied:
            packet.dts -= delay
            packet.pts = packet.dts if packet.pts is None else packet.pts - delay
            packet.stream = self._written
            self._target.mux(packet)
            return
        self._target.mux(self._encoded(packet))

    def _encoded(self, packet: "Packet[AudioStream]") -> "list[Packet[AudioStream]]":
        found: list[Packet[AudioStream]] = []
        with suppress(av.error.FFmpegError):  # players leave out what is damaged, too
            for frame in packet.decode():
                assert isinstance(frame, AudioFrame)
                if frame.pts is not None and frame.time_base:
                    frame.pts -= round(self._starts_at / frame.time_base)
                found += self._written.encode(frame)
        return found


def save_sound(path: Path, out: Path, seconds: float, tell: Callable[[], None]) -> bool:
    """Write a video's sound to `out`, an mp4 file without pictures, up to this time; whether it has any.

    `tell` is called after every minute of it.
    """
    with av.open(str(out.absolute()), "w", format="mp4") as target:
        sound = open_sound(path, target)
        if sound is None:
            return False
        try:
            for minute in count(1):
                sound.copy_until(min(60.0 * minute, seconds))
                tell()
                if sound.is_over or 60.0 * minute >= seconds:
                    break
            sound.finish(seconds)
        finally:
            sound.close()
    return True


def open_sound(path: Path, target: OutputContainer) -> Sound | None:
    """The sound of a video file, to be copied into `target`; None where it has none, or `path` is no file."""
    if not path.is_file():
        return None
    try:
        source = open_container(path)
    except (av.error.FFmpegError, OSError, ValueError):
        return None  # a file that went away: the pictures are here all the same
    stream = next((each for each in source.streams.audio if each.codec_context is not None), None)
    if stream is None:
        source.close()
        return None
    return Sound(path, source, stream, target)
