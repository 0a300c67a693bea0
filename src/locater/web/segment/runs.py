"""One answer to some sentences about a clip: masks as run lengths, and what a page shows of them, as they grow."""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from PIL import Image

from locater.errors import LocaterError
from locater.inference.chunk_length import CHUNK_FRAMES
from locater.inference.segmenter import Segmenter
from locater.records import Correction, Frame, FrameResult, FrameSource, VideoInfo
from locater.video.track import MaskTrack
from locater.web.segment.turns import CancelledError

Status = Literal["waiting", "looking", "segmenting", "done", "cancelled", "failed"]
_MASK_SIDE = 960  # pixels; as large as the pictures that the page shows


def scores_of(result: FrameResult) -> Sequence[float]:
    """How sure a result is of each sentence, in [0, 1]: the one place where the page learns it."""
    return result.confidence


@dataclass
class Run:
    """What was asked, and what is known of the answer so far; grows frame by frame, never changes behind."""

    number: int
    sentences: tuple[str, ...]
    corrections: tuple[Correction, ...] = ()
    notices: tuple[str, ...] = ()
    status: Status = "waiting"
    message: str = ""
    looked: int = 0  # frames of the first pass over the video
    track: MaskTrack | None = None
    scores: list[tuple[int, ...]] = field(default_factory=list)  # a frame: per cent, a sentence
    areas: list[tuple[int, ...]] = field(default_factory=list)  # a frame: hundredths of a per cent of it, a sentence
    _words: list[dict[str, float]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.areas)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.status in ("done", "cancelled", "failed")

    @property
    def names(self) -> tuple[str, ...]:
        """The sentences, and a name for each object that was only pointed at."""
        return tuple(text or f"object {place}" for place, text in enumerate(self.sentences, start=1))

    def add(self, result: FrameResult) -> None:
        """Take in the next frame."""
        if self.track is None:
            self.track = MaskTrack(self.names, *result.masks.shape[1:])
        self.track.append(result)
        size = result.masks[0].size
        self.scores.append(tuple(round(100 * score) for score in scores_of(result)))
        for place, weighted in enumerate(result.word_attention):
            if len(self._words) <= place:
                self._words.append({})
            for position, (word, weight) in enumerate(weighted):
                key = f"{position} {word}"  # a word may come twice
                self._words[place][key] = self._words[place].get(key, 0.0) + weight
        self.areas.append(tuple(round(10_000 * int(mask.sum()) / size) for mask in result.masks))

    def words(self) -> list[list[tuple[str, int]]]:
        """Each sentence's words with their mean weight so far, in per cent."""
        count = max(len(self), 1)
        return [
            [(key.partition(" ")[2], round(100 * total / count)) for key, total in words.items()]
            for words in self._words
        ]

    def mask_picture(self, index: int) -> bytes:
        """A frame's masks as a small grey PNG: bit n of a pixel says whether it is the n-th sentence's."""
        if self.track is None or index >= len(self):
            raise IndexError(index)
        scale = min(1.0, _MASK_SIDE / max(self.track.width, self.track.height))
        size = max(1, round(self.track.width * scale)), max(1, round(self.track.height * scale))
        bits = np.zeros((size[1], size[0]), dtype=np.uint8)
        for place in range(len(self.sentences)):
            mask = self.track.mask(index, place)
            if mask.shape != bits.shape:
                whole = Image.fromarray(mask.astype(np.uint8) * 255)
                mask = np.asarray(whole.resize(size, Image.Resampling.BOX)) >= 128
            bits |= mask.astype(np.uint8) << place
        buffer = io.BytesIO()
        Image.fromarray(bits).save(buffer, "PNG", compress_level=4)
        return buffer.getvalue()

    def as_json(self) -> dict[str, Any]:
        """All but the frames."""
        return {
            "number": self.number,
            "sentences": self.sentences,
            "corrections": [
                {"frame": each.frame, "expression": each.expression, "clicks": [asdict(click) for click in each.clicks]}
                for each in self.corrections
            ],
            "status": self.status,
            "message": self.message,
            "notices": self.notices,
            "looked": self.looked,
            "count": len(self),
            "words": self.words(),
        }


@dataclass(frozen=True)
class _Paced:
    """A source that lets others have their turn between chunks, whatever it is read for."""

    source: FrameSource
    pause: Callable[[], None]

    @property
    def info(self) -> VideoInfo:
        """What is known before reading."""
        return self.source.info

    @property
    def is_repeatable(self) -> bool:
        """Whether `frames` may be called twice."""
        return self.source.is_repeatable

    def frames(self, start: int = 0, every: int = 1) -> Iterator[Frame]:
        """The source's frames, with a pause before each chunk."""
        for number, frame in enumerate(self.source.frames(start, every)):
            if number % CHUNK_FRAMES == 0:
                self.pause()
            yield frame


def segment_clip(segmenter: Segmenter, source: FrameSource, run: Run, pause: Callable[[], None]) -> None:
    """Fill the run; `pause` is called between chunks, and may end it."""

    def looked(index: int) -> None:
        run.looked = index + 1

    run.status = "looking"
    try:
        results: Any = segmenter.segment(
            _Paced(source, pause),
            run.sentences,
            mode="file",
            anyway=True,  # what is not understood was told before the run began
            corrections=run.corrections,
            on_global_frame=looked,
        )
        with closing(results):
            for result in results:
                run.status = "segmenting"
                run.add(result)
        run.status = "done"
    except CancelledError:
        run.status = "cancelled"
    except LocaterError as error:
        run.status, run.message = "failed", str(error)
    except Exception:
        run.status, run.message = "failed", "Something went wrong; the terminal of the server says what."
        raise
