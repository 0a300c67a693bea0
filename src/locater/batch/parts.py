"""A video that is not finished, on the disk: its state, and the run lengths of every frame before it.

A part is a folder `START-END` with the masks of those frames and the state after them, which appears as a whole. What a
lost worker had saved is a chain of them from frame 0. Before the first of them there is the state of the first pass, in
which the whole video is looked at: `looked-at-FRAME.safetensors`.
"""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from locater.inference.writing import Before
from locater.io import rle
from locater.io.atomic import atomic_folder
from locater.records import Frame, FrameMasks, FrameResult, FrameSource, Mask, VideoState
from locater.video.writers.pictures import indexed, overlapping

_FRAMES, _STATE = "frames.jsonl", "state.safetensors"
_LOOKED_AT = "looked-at-{}.safetensors"


class SavedFrame(BaseModel):
    """One frame's masks as run lengths."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    size: tuple[int, int]  # height and width
    masks: tuple[str, ...]
    # Which pixels each would have in an indexed picture, which is all that soft masks are written for: none where there
    # were no soft masks, empty where no sentences overlap.
    winners: tuple[str, ...] | None
    presence: tuple[float, ...]
    score: tuple[float, ...] | None

    @classmethod
    def of(cls, result: FrameMasks) -> "SavedFrame":
        """A result, kept."""
        height, width = result.masks.shape[1:]
        winners: tuple[str, ...] | None = None if result.soft_masks is None else ()
        if result.soft_masks is not None and overlapping(result):
            picture = indexed(result)
            winners = tuple(_runs(picture == number) for number in range(1, len(result.masks) + 1))
        masks = tuple(_runs(mask) for mask in result.masks)
        return cls(size=(height, width), masks=masks, winners=winners, presence=result.presence, score=result.score)

    def over(self, frame: Frame) -> FrameMasks:
        """The result again, with soft masks that are surest where a sentence won."""
        masks, soft = self._stack(self.masks), None
        if self.winners is not None:
            soft = (self._stack(self.winners) if self.winners else masks).astype(np.float32)
        return FrameMasks(frame, masks, soft, self.presence, score=self.score)

    def _stack(self, runs: Sequence[str]) -> npt.NDArray[np.bool_]:
        return np.stack([rle.decode(each.encode("ascii"), *self.size) for each in runs])


class SavedVideo:
    """What is saved of one video, and more of it from time to time."""

    def __init__(self, folder: Path, every: float) -> None:
        self._folder = folder
        self._every = every  # seconds
        self._chain = _chain(folder)
        self._waiting: list[SavedFrame] = []
        self._saved_at = time.monotonic()

    @property
    def frames(self) -> int:
        """How many frames are saved."""
        return self._chain[-1][1] if self._chain else 0

    def before(self, source: FrameSource) -> Before | None:
        """The state to go on from, with all results up to it; None where nothing is saved."""
        if self._chain:
            return Before(VideoState.load(_part(self._folder, *self._chain[-1]) / _STATE), self._results(source))
        looked_at = _looked_at(self._folder)
        return Before(VideoState.load(looked_at[-1][1]), ()) if looked_at else None

    def take_look(self, state: VideoState) -> None:
        """Keep how far the first pass is; on the disk when it is time."""
        if time.monotonic() - self._saved_at >= self._every:
            earlier = _looked_at(self._folder)
            state.save(self._folder / _LOOKED_AT.format(state.global_index))
            for _, path in earlier:
                path.unlink(missing_ok=True)
            self._saved_at = time.monotonic()

    def take(self, result: FrameResult) -> None:
        """Keep one result more; on the disk when it is time."""
        self._waiting.append(SavedFrame.of(result))
        if time.monotonic() - self._saved_at >= self._every:
            self._save(result.state)
            self._saved_at = time.monotonic()

    def _save(self, state: VideoState) -> None:
        start = self.frames
        end = start + len(self._waiting)
        with atomic_folder(_part(self._folder, start, end)) as partial:
            lines = (frame.model_dump_json() + "\n" for frame in self._waiting)
            (partial / _FRAMES).write_text("".join(lines), "utf-8")
            state.save(partial / _STATE)
        self._chain.append((start, end))
        self._waiting.clear()

    def _results(self, source: FrameSource) -> Iterator[FrameMasks]:
        frames = source.frames()
        for part in self._chain:
            with (_part(self._folder, *part) / _FRAMES).open(encoding="utf-8") as lines:
                for line in lines:
                    yield SavedFrame.model_validate_json(line).over(next(frames))


def saved_frames(work: Path) -> int:
    """How many frames of an unfinished video are saved, whatever its content was."""
    return max((_chain(folder)[-1][1] for folder in _folders(work) if _chain(folder)), default=0)


def place_of(work: Path) -> str:
    """Where an unfinished video would go on, in words."""
    looked_at = [frame for folder in _folders(work) for frame, _ in _looked_at(folder)]
    frames = saved_frames(work)
    return f"frame {frames}" if frames or not looked_at else f"frame {max(looked_at)} of the first pass"


def only(work: Path, key: str) -> Path:
    """The folder in `work` for what is saved of the video that has this key; what was saved of another is removed."""
    for folder in _folders(work):
        if folder.name != key:
            shutil.rmtree(folder, ignore_errors=True)
    return work / key


def _folders(work: Path) -> list[Path]:
    return [path for path in work.iterdir() if path.is_dir()] if work.is_dir() else []


def _looked_at(folder: Path) -> list[tuple[int, Path]]:
    """The frames up to which the first pass is saved, and where, in order."""
    found = ((path.stem.rpartition("-")[2], path) for path in folder.glob(_LOOKED_AT.format("*")))
    return sorted((int(frame), path) for frame, path in found if frame.isdecimal())


def _part(folder: Path, start: int, end: int) -> Path:
    return folder / f"{start}-{end}"


def _chain(folder: Path) -> list[tuple[int, int]]:
    """Parts that follow each other from frame 0, as far as any do.

    A worker that was taken for lost may have gone on beside the next, and then there are several ways.
    """
    parts = []
    for path in _folders(folder):
        start, _, end = path.name.partition("-")
        if start.isdecimal() and end.isdecimal():
            parts.append((int(start), int(end)))
    chains: dict[int, list[tuple[int, int]]] = {0: []}  # by the frame that they reach
    for part in sorted(parts):
        if part[0] in chains and part[0] < part[1]:
            chains[part[1]] = [*chains[part[0]], part]
    return chains[max(chains)]


def _runs(mask: Mask) -> str:
    return rle.encode(mask).decode("ascii")
