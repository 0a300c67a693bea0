"""The one loop: frames from anywhere in, masks of every expression out, in constant memory."""

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal, Self, get_args

import torch

from locater.errors import LocaterError
from locater.model import checkpoint
from locater.model.decoder import presence
from locater.model.locater import ClipFeatures, Locater
from locater.records import Frame, FramePrediction, FrameResult, FrameSource, MaskTrack, Pixels, VideoState, Words
from locater.video.reader import open_source
from locater.video.transforms import frame_times, frames_to_tensor, resize_soft

Source = str | Path | FrameSource | Iterable[Pixels]
Mode = Literal["auto", "file", "live"]
Precision = Literal["float32", "bfloat16", "float16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

CHUNK_FRAMES = 8  # enough to keep two cores or a small GPU busy, little enough to hold
THRESHOLD = 0.5  # section 3.3, inference


class NotUnderstoodWarning(UserWarning):
    """Part of a sentence was cut or is unknown to the network."""


class Segmenter:
    """Segments videos by sentences with one network.

    Two modes. `file` reads the source twice: pass one writes the global memory from every n-th frame (Eq. 5), pass
    two segments. `live` is for sources that cannot be read twice: the global memory is causal, each n-th frame is
    written just before it is segmented, so that a sentence about what comes later cannot be known yet.
    """

    def __init__(
        self, model: Locater, device: str | torch.device | None = None, precision: Precision = "float32"
    ) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if precision == "float16" and self.device.type == "cpu":  # torch's CPU has no LSTM in it
            raise LocaterError("float16 needs a GPU; on the CPU choose bfloat16 or float32.")
        self.model = model.to(self.device).eval()
        self.precision = precision

    @classmethod
    def from_pretrained(
        cls, name_or_path: str | Path, device: str | torch.device | None = None, precision: Precision = "float32"
    ) -> Self:
        """A segmenter around a checkpoint: a folder, a shipped name, or a hub name."""
        return cls(checkpoint.from_pretrained(name_or_path), device, precision)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the network as a checkpoint folder."""
        checkpoint.save_pretrained(self.model, folder)

    def segment(
        self,
        source: Source,
        expressions: str | Sequence[str],
        *,
        soft: bool = False,
        mode: Mode = "auto",
        chunk_frames: int | None = None,
        frames_per_second: float | None = None,
        state: VideoState | None = None,
        on_global_frame: Callable[[int], None] | None = None,
    ) -> Iterator[FrameResult]:
        """Each frame's masks at the source's own size, as soon as its chunk is done.

        `mode` `auto` is `live` for a stream that can be read only once, else `file`. `live` takes one frame a chunk
        unless told otherwise, so that nothing waits. `frames_per_second` dates frames that carry no time of their own
        (images, arrays). `state`, from an earlier result, continues an interrupted video: a file is given whole
        again, a stream from where it stopped; with the same chunks the masks are the uninterrupted ones bit for bit.
        `on_global_frame` hears which frame pass one has reached.
        """
        frames = open_source(source, frames_per_second)
        texts = (expressions,) if isinstance(expressions, str) else tuple(expressions)
        is_live = _is_live(frames, mode, state)
        if state is not None and state.expressions != texts:
            raise LocaterError(f"The saved state belongs to {list(state.expressions)}, not to {list(texts)}.")
        words = self._read_words(texts)
        default = 1 if is_live else CHUNK_FRAMES
        chunk = self._whole_windows(default if chunk_frames is None else chunk_frames)
        return self._results(frames, words, state, chunk, is_live, soft, on_global_frame)

    def track(
        self,
        source: Source,
        expressions: str | Sequence[str],
        *,
        mode: Mode = "auto",
        chunk_frames: int | None = None,
        frames_per_second: float | None = None,
    ) -> MaskTrack:
        """All masks of a video, held as run lengths."""
        texts = (expressions,) if isinstance(expressions, str) else tuple(expressions)
        track: MaskTrack | None = None
        for result in self.segment(
            source, texts, mode=mode, chunk_frames=chunk_frames, frames_per_second=frames_per_second
        ):
            track = track or MaskTrack(texts, *result.masks.shape[1:])
            track.append(result)
        if track is None:
            raise LocaterError("The source holds no frames; give a video with at least one.")
        return track

    def _read_words(self, texts: tuple[str, ...]) -> Words:
        tokens = self.model.text.trimmed(self.model.text.tokenize(texts)).to(self.device)
        for notice in tokens.notices:
            warnings.warn(notice, NotUnderstoodWarning, stacklevel=3)
        with self._computing():
            words: Words = self.model.text(tokens)
            return words

    def _whole_windows(self, chunk_frames: int) -> int:
        """The chunk rounded up to whole windows of the encoder, so that windows never depend on the chunk size."""
        if chunk_frames < 1:
            raise LocaterError(f"chunk_frames is {chunk_frames}; it must be at least 1.")
        window = self.model.visual.window
        return -(-chunk_frames // window) * window

    def _results(
        self,
        source: FrameSource,
        words: Words,
        state: VideoState | None,
        chunk: int,
        is_live: bool,
        soft: bool,
        on_global_frame: Callable[[int], None] | None,
    ) -> Iterator[FrameResult]:
        if state is None:
            with self._computing():
                state = self.model.start(words)
            if not is_live:
                state = self._write_global_memory(source, words, state, chunk, on_global_frame)
        yield from self._segment_chunks(source, words, state.to(self.device), chunk, soft)

    def _write_global_memory(
        self,
        source: FrameSource,
        words: Words,
        state: VideoState,
        chunk: int,
        on_frame: Callable[[int], None] | None,
    ) -> VideoState:
        """Pass one: every n-th frame of the whole video into the global memory, then fixed (section 3.2.2)."""
        interval = self.model.config.memory.interval
        is_windowed = self.model.visual.window > 1  # such an encoder must see every frame, also between the samples
        frames = source.frames(every=1 if is_windowed else interval) if state.global_cells.shape[1] else iter(())
        while some := list(islice(frames, chunk)):
            with self._computing():
                clip = self._encode(some, source.info.duration, words)
                samples = [t for t, frame in enumerate(some) if frame.index % interval == 0]
                state = self.model.remember(clip.stamped[:, samples], state)
            if on_frame is not None:
                on_frame(some[-1].index)
        return replace(state, is_global_complete=True)

    def _segment_chunks(
        self, source: FrameSource, words: Words, state: VideoState, chunk: int, soft: bool
    ) -> Iterator[FrameResult]:
        """Pass two, or the only pass of `live`."""
        interval = self.model.config.memory.interval
        is_live = not state.is_global_complete
        # An interrupted chunk is encoded again whole, so that its numbers do not depend on the interruption.
        first = state.frame_index - (state.frame_index % chunk if source.is_repeatable else 0)
        frames = source.frames(start=first)
        while some := list(islice(frames, chunk)):
            with self._computing():
                # What is live has no known end, also when it comes from a file.
                clip = self._encode(some, None if is_live else source.info.duration, words)
            for start, stop in _spans([frame.index for frame in some], interval if is_live else None):
                done = max(0, state.frame_index - some[start].index)  # frames of the span before the interruption
                if done >= stop - start:
                    continue
                with self._computing():
                    if is_live and some[start].index % interval == 0 and not done:
                        state = self.model.remember(clip.stamped[:, [start]], state)
                    predictions, states = self.model.steps(clip.part(start, stop), words, state, done)
                for frame, prediction, state in zip(some[start + done : stop], predictions, states, strict=True):
                    with self._computing():
                        result = self._result(frame, prediction, words, state, soft)
                    yield result

    def _result(
        self, frame: Frame, prediction: FramePrediction, words: Words, state: VideoState, soft: bool
    ) -> FrameResult:
        soft_mask = prediction.logits.float().sigmoid()
        full = resize_soft(soft_mask, *frame.pixels.shape[:2])  # the soft mask is upsampled, then cut (section 3.2.3)
        return FrameResult(
            frame=frame,
            masks=(full > THRESHOLD).cpu().numpy(),
            soft_masks=full.cpu().numpy() if soft else None,
            presence=tuple(presence(soft_mask).tolist()),
            word_attention=tuple(tuple(row) for row in words.attention_by_word(prediction.word_attention)),
            state=state,
        )

    def _encode(self, some: list[Frame], duration: float | None, words: Words) -> ClipFeatures:
        """A chunk of frames through the encoders; the visual one runs once for all expressions."""
        size = self.model.config.input_size(*some[0].pixels.shape[:2])
        pixels = frames_to_tensor([frame.pixels for frame in some], size)
        times = frame_times(some, duration)[None].to(self.device)
        return self.model.fuse(self.model.visual(pixels.to(self.device).unsqueeze(0)), times, words)

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """No gradients, and the chosen precision."""
        dtype = getattr(torch, self.precision)
        is_reduced = self.precision != "float32"
        with torch.inference_mode(), torch.autocast(self.device.type, dtype, enabled=is_reduced):
            yield


def load(
    name_or_path: str | Path, device: str | torch.device | None = None, precision: Precision = "float32"
) -> Segmenter:
    """A ready segmenter: `locater.load("default").track("clip.mp4", "the dog on the left")`."""
    return Segmenter.from_pretrained(name_or_path, device, precision)


def _is_live(frames: FrameSource, mode: Mode, state: VideoState | None) -> bool:
    if mode == "file" and not frames.is_repeatable:
        raise LocaterError("A stream cannot be read twice; use mode='live', or give a file or a list of frames.")
    if state is not None:
        return not state.is_global_complete
    return mode == "live" or not frames.is_repeatable


def _spans(indices: Sequence[int], interval: int | None) -> list[tuple[int, int]]:
    """Where a chunk's frames are cut: before each that is written into the global memory, which all after it read."""
    starts = [place for place, index in enumerate(indices) if not place or (interval and index % interval == 0)]
    return list(itertools.pairwise([*starts, len(indices)]))
