"""The one loop: frames from anywhere in, masks of every expression out, in constant memory."""

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Literal, Self

import torch
from PIL import Image
from torch import Tensor

from locater.compute.device import find_device
from locater.compute.precision import AUTO, Precision, dtype_of, find_precision
from locater.errors import LocaterError
from locater.inference.async_results import AsyncResults
from locater.inference.averaged_views import PLAIN, AveragedViews
from locater.inference.chunk_length import chunk_frames_of, chunk_lengths
from locater.inference.chunks import Chunks, Plan
from locater.inference.correction.corrected_video import CorrectedVideo
from locater.inference.correction.correction_checks import check_plain, checked_corrections
from locater.inference.effort import Quality, effort_of
from locater.inference.judging import Judge
from locater.inference.resuming import PassOne, check_state
from locater.model import checkpoint
from locater.model.cast_model import cast_in_place, cast_model
from locater.model.locater import Locater
from locater.model.second_look import SecondLook
from locater.records import (
    Correction,
    Frame,
    FrameResult,
    FrameSource,
    Pixels,
    Tokens,
    VideoInfo,
    VideoState,
    Views,
    Words,
)
from locater.text.mirror import mirror_sentence
from locater.text.words import check_lengths
from locater.video.array_source import kept_if_small
from locater.video.reader import Mode, is_live_mode, open_source, whole_video
from locater.video.track import MaskTrack

Source = str | Path | Sequence[str | Path] | Image.Image | Tensor | FrameSource | Iterable[Pixels]

_ANY_WORD = "the"  # stands where nothing is said
# Of pass one's frames, which pass two then need not decode: a short clip's, and on a GPU, which waits for them, more.
KEPT_BYTES = {False: 36 * 2**20, True: 2**30}


class NotUnderstoodWarning(UserWarning):
    """Part of a sentence was cut or is unknown to the network."""


class Segmenter:
    """Segments videos by sentences with one network.

    Two modes. `file` reads the source twice: pass one writes the global memory from every n-th frame (Eq. 5), pass
    two segments. `live` is for sources that cannot be read twice: the global memory is causal, each n-th frame is
    written just before it is segmented, so that a sentence about what comes later cannot be known yet.
    """

    def __init__(
        self,
        model: Locater,
        device: str | torch.device | None = None,
        precision: Precision | Literal["auto"] = "float32",
        second_look: SecondLook | None = None,
        quality: Quality = "best",
        reopened: Callable[[], Locater] | None = None,
        compiled: bool = False,
    ) -> None:
        """`reopened` gives the same network once more, where there is a way: `model` then need not stay as it is.

        `compiled`: on a GPU, what is replayed is compiled first, which the first video waits for (docs/benchmarks.md).
        """
        self.device = find_device(None if device is None else str(device))
        self.quality = quality
        effort = effort_of(quality, self.device)
        is_exact = precision == AUTO and quality == "best"
        self.precision = find_precision("float32" if is_exact else precision, self.device)
        given = model.to(self.device).eval()
        self.config = given.config
        self.second_look = second_look
        self._exact: Callable[[], Locater] = lambda: given
        if reopened is None or self.precision == "float32":
            cast = cast_model(given, dtype_of(self.precision))
        else:  # hardly anybody needs the exact weights again, and they are twice as large
            cast = cast_in_place(given, dtype_of(self.precision))
            self._exact = cache(lambda: reopened().to(self.device))
        self.chunks = Chunks(cast, self.device.type == "cuda", effort, compiled)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        device: str | torch.device | None = None,
        precision: Precision | Literal["auto"] = AUTO,
        quality: Quality = "default",
        compiled: bool = False,
    ) -> Self:
        """A segmenter around a checkpoint: a folder, a shipped name, or a hub name.

        `precision` `auto` is what the device computes soonest, and float32 for the quality `best` (docs/benchmarks.md).
        """
        folder = checkpoint.find_checkpoint(name_or_path)
        second_look = checkpoint.load_second_look(folder)
        opened = partial(checkpoint.from_pretrained, folder)
        return cls(opened(), device, precision, second_look, quality, opened, compiled)

    @property
    def model(self) -> Locater:
        """The network as it was given, or as its checkpoint has it; what computes may be of a lower precision."""
        return self._exact()

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the network, and its second look, as a checkpoint folder."""
        checkpoint.save_pretrained(self.model, folder, second_look=self.second_look)

    def segment(
        self,
        source: Source,
        expressions: str | Sequence[str],
        *,
        soft: bool = False,
        mode: Mode = "auto",
        threshold: float | None = None,
        chunk_frames: int | None = None,
        frames_per_second: float | None = None,
        anyway: bool = False,
        state: VideoState | None = None,
        on_global_frame: Callable[[int], None] | None = None,
        on_global_state: Callable[[VideoState], None] | None = None,
        corrections: Sequence[Correction] = (),
        views: Views = PLAIN,
    ) -> Iterator[FrameResult]:
        """Each frame's masks at the source's own size, as soon as its chunk is done.

        `mode` `auto` is `live` for a stream that can be read only once, else `file`. `live` takes one frame a chunk
        unless told otherwise, so that nothing waits. `frames_per_second` dates frames that carry no time of their own
        (images, arrays). Masks whose score is below `threshold` are left empty, where the checkpoint has a second
        look. A sentence with a noun that the network does not know is refused, unless `anyway`: what is
        left of it may mean something else. `state`, from an earlier result, continues an interrupted video: a file is
        given whole again, a stream from where it stopped; with the same chunks the masks are the uninterrupted ones bit
        for bit (up to rounding on a GPU, which replays whole chunks as CUDA graphs). `on_global_frame` hears which
        frame pass one has reached, and `on_global_state` the state to resume that pass from. `corrections` put masks
        right, in the order in which they were made: the frames around a corrected one follow it, in `live` mode only
        those after it. An expression that has one may be "". `views` are the sizes, and mirror images, in which all of
        it is done, one after the other, and averaged; chunks are cut shorter for large ones.
        """
        frames = open_source(source, frames_per_second)
        texts = (expressions,) if isinstance(expressions, str) else tuple(expressions)
        is_live = is_live_mode(frames, mode, state)
        if state is not None:
            check_state(state, texts, views, corrections, self.config)
        told = checked_corrections(corrections, texts, frames.info) if corrections else ()
        is_followed = state is not None and state.followed is not None
        corrected = range(len(texts)) if is_followed else {each.expression for each in told}
        if corrected:
            check_plain(views)
        network = self._network(self.read_words(texts, anyway, corrected), views)
        default = 1 if is_live else chunk_frames_of(self.device, len(texts), _frame_bytes(frames.info))
        chunk = self._whole_windows(views.chunk_frames(default if chunk_frames is None else chunk_frames))
        judge = self.judge(threshold)
        heard = PassOne(on_global_frame, on_global_state)
        results = self._results(frames, network, state, chunk, is_live, soft, heard, told)
        if judge is None:
            return results
        return judge.over(results, None if state is None else state.looks, unjudged=frozenset(corrected))

    def track(
        self,
        source: Source,
        expressions: str | Sequence[str],
        *,
        mode: Mode = "auto",
        threshold: float | None = None,
        chunk_frames: int | None = None,
        frames_per_second: float | None = None,
        anyway: bool = False,
        corrections: Sequence[Correction] = (),
        views: Views = PLAIN,
    ) -> MaskTrack:
        """All masks of a video, held as run lengths."""
        texts = (expressions,) if isinstance(expressions, str) else tuple(expressions)
        frames = open_source(source, frames_per_second)
        track: MaskTrack | None = None
        for result in self.segment(
            frames,
            texts,
            mode=mode,
            threshold=threshold,
            chunk_frames=chunk_frames,
            anyway=anyway,
            corrections=corrections,
            views=views,
        ):
            track = track or MaskTrack(texts, result.masks.shape[1], result.masks.shape[2], frames.info)
            track.append(result)
        if track is None:
            raise LocaterError("The source holds no frames; give a video with at least one.")
        return track

    def judge(self, threshold: float | None) -> Judge | None:
        """What scores the results; None where the checkpoint has no second look, which then refuses a threshold."""
        if threshold is not None and not 0 <= threshold <= 1:
            raise LocaterError(f"The threshold is {threshold}; it must lie between 0 and 1.")
        if self.second_look is None:
            if threshold is not None:
                raise LocaterError("This checkpoint has no calibrated score to compare with a threshold; leave it out.")
            return None
        return Judge(self.chunks.model, self.second_look, threshold or 0.0)

    def read_words(self, texts: tuple[str, ...], anyway: bool, corrected: Collection[int] = ()) -> Words:
        """The sentences, encoded; what is unknown is warned of, and an unknown noun is an error unless `anyway`.

        The sentence of an object which was `corrected` may have no words: it is only clicked.
        """
        for text in texts:
            check_lengths(text)
        is_silent = [not text and place in corrected for place, text in enumerate(texts)]
        read = tuple(_ANY_WORD if silent else text for text, silent in zip(texts, is_silent, strict=True))
        tokens = self.chunks.model.text.trimmed(self.chunks.model.text.tokenize(read)).to(self.device)
        if tokens.not_understood and not anyway:
            raise LocaterError(
                f"{'; '.join(tokens.not_understood)}; use other English words, or go on without these by --anyway "
                "(in Python: anyway=True)."
            )
        for notice in tokens.notices:
            if not notice.startswith(f"'{_ANY_WORD}'"):
                warnings.warn(notice, NotUnderstoodWarning, stacklevel=3)
        words = self._encoded(tokens)
        if not any(is_silent):
            return words
        owners = words.word_of_token.masked_fill(torch.tensor(is_silent)[:, None], -1)
        kept = tuple(() if silent else each for each, silent in zip(words.words, is_silent, strict=True))
        return replace(words, expressions=texts, words=kept, word_of_token=owners)

    def _encoded(self, tokens: Tokens) -> Words:
        with torch.inference_mode():
            words = self.chunks.read(tokens)
        # What tells words from sub-words is asked of every result, and never by the GPU.
        return replace(words, word_of_token=words.word_of_token.cpu())

    def _network(self, words: Words, views: Views) -> AveragedViews:
        """The network for sentences that were read, in these views of a video."""
        mirrored = tuple(mirror_sentence(text) for text in words.expressions) if views.flip else words.expressions
        if mirrored == words.expressions:
            return AveragedViews(self.chunks, views, words, words)
        tokens = self.chunks.model.text.trimmed(self.chunks.model.text.tokenize(mirrored)).to(self.device)
        return AveragedViews(self.chunks, views, words, self._encoded(tokens))

    def _whole_windows(self, chunk_frames: int) -> int:
        """The chunk rounded up to whole windows of the encoder, so that windows never depend on the chunk size."""
        if chunk_frames < 1:
            raise LocaterError(f"chunk_frames is {chunk_frames}; it must be at least 1.")
        window = self.chunks.model.visual.window
        return -(-chunk_frames // window) * window

    def _results(
        self,
        source: FrameSource,
        network: AveragedViews,
        state: VideoState | None,
        chunk: int,
        is_live: bool,
        soft: bool,
        heard: PassOne,
        corrections: tuple[Correction, ...],
    ) -> Iterator[FrameResult]:
        whole: list[Frame] = []
        is_corrected = bool(corrections) or (state is not None and state.followed is not None)
        if state is None:
            state = replace(network.initial_state(), global_index=None if is_live else 0)
            if not is_live and not is_corrected:
                whole = whole_video(source, chunk)
        if state.global_index is not None and not whole:
            source = kept_if_small(source, KEPT_BYTES[self.device.type == "cuda"])
            state = self._write_global_memory(source, network, self._ready(state), chunk, heard)
        if is_corrected:
            video = CorrectedVideo(self.chunks, self.chunks.input, network.words, corrections, chunk)
            yield from video.results(source, self._ready(state), soft, self._samples)
        elif whole:
            is_full = len(whole) == chunk
            yield from self._segment_whole(whole, is_full, source.info.duration, network, state, soft, heard)
        else:
            yield from self._segment_chunks(source, network, self._ready(state), chunk, soft)

    def _segment_whole(
        self,
        whole: list[Frame],
        is_full: bool,
        duration: float | None,
        network: AveragedViews,
        state: VideoState,
        soft: bool,
        heard: PassOne,
    ) -> Iterator[FrameResult]:
        """Both passes in one, where a chunk holds the video: each frame is encoded once, for both memories."""
        plan = Plan(self._samples(whole, state))
        state = replace(state, is_global_complete=True, global_index=None)
        heard.reached(whole[-1].index)  # all is read; the rest of the time goes into the masks
        with torch.inference_mode():
            found = network.segment(whole, duration, state, plan, is_full)
            pending = AsyncResults.of(whole, found, network.words, soft)
        yield from pending.results()

    def _write_global_memory(
        self,
        source: FrameSource,
        network: AveragedViews,
        state: VideoState,
        chunk: int,
        heard: PassOne,
    ) -> VideoState:
        """Pass one: every n-th frame of the whole video into the global memory, then fixed (section 3.2.2)."""
        # An encoder with windows must see every frame, also between the samples.
        is_windowed = self.chunks.model.visual.window > 1
        every = 1 if is_windowed else self.config.memory.interval
        frames = source.frames(state.global_index or 0, every) if state.global_cells.shape[1] else iter(())
        while some := list(islice(frames, chunk)):
            samples = self._samples(some, state)
            if samples:
                with torch.inference_mode():
                    is_full = len(some) == chunk
                    state = network.write_global(some, source.info.duration, state, samples, is_full)
            state = replace(state, global_index=some[-1].index + every)
            heard.reached(some[-1].index, state)
        return replace(state, is_global_complete=True, global_index=None)

    def _segment_chunks(
        self, source: FrameSource, network: AveragedViews, state: VideoState, chunk: int, soft: bool
    ) -> Iterator[FrameResult]:
        """Pass two, or the only pass of `live`."""
        is_live = not state.is_global_complete
        # An interrupted chunk is encoded again whole, so that its numbers do not depend on the interruption.
        first = state.frame_index - (state.frame_index % chunk if source.is_repeatable else 0)
        frames = source.frames(start=first)
        is_ahead = self._is_ahead(is_live)
        waiting: AsyncResults | None = None
        is_by_frame = self.chunks.effort.is_by_frame and self.chunks.model.visual.window == 1
        lengths = chunk_lengths(first, chunk, is_by_frame)
        while some := list(islice(frames, next(lengths))):
            done = max(0, state.frame_index - some[0].index)  # frames before the interruption
            if done >= len(some):
                continue
            # What is live has no known end, also when it comes from a file.
            duration = None if is_live else source.info.duration
            plan = Plan(self._samples(some, state) if is_live else (), is_live, first=done)
            with torch.inference_mode():
                is_full = len(some) == chunk and not done
                found = network.segment(some, duration, state, plan, is_full)
                pending = AsyncResults.of(some[done:], found, network.words, soft)
            state = found.states[-1]
            if not is_ahead:
                yield from pending.results()
                continue
            if waiting is not None:
                yield from waiting.results()
            waiting = pending
        if waiting is not None:
            yield from waiting.results()

    def _is_ahead(self, is_live: bool) -> bool:
        """A GPU segments the next chunk while this one's results are used; what is live must not wait for frames."""
        return self.device.type == "cuda" and not is_live

    def _ready(self, state: VideoState) -> VideoState:
        """A state from anywhere, on the device and in the precision that computes."""
        dtype = self.chunks.dtype
        here = state.to(self.device)
        return replace(here, global_cells=here.global_cells.to(dtype), local_cells=here.local_cells.to(dtype))

    def _samples(self, some: list[Frame], state: VideoState) -> tuple[int, ...]:
        """Which of a chunk's frames the global memory is written from; none where there is no such memory."""
        if not state.global_cells.shape[1]:
            return ()
        return tuple(t for t, frame in enumerate(some) if frame.index % self.config.memory.interval == 0)


def load(
    name_or_path: str | Path,
    device: str | torch.device | None = None,
    precision: Precision | Literal["auto"] = AUTO,
    quality: Quality = "default",
    compiled: bool = False,
) -> Segmenter:
    """A ready segmenter: `locater.load("default").track("clip.mp4", "the dog on the left")`."""
    return Segmenter.from_pretrained(name_or_path, device, precision, quality, compiled)


def _frame_bytes(info: VideoInfo) -> int:
    return 3 * (info.width or 1) * (info.height or 1)
