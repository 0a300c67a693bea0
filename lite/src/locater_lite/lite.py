"""The loop: frames from anywhere in, masks of every sentence out, in constant memory."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from locater_lite.errors import LocaterError
from locater_lite.graphs import Graphs
from locater_lite.judging import Judge
from locater_lite.pixels import PATCH, Array, Part, Refine, cells_of, enlarged, input_size, redrawn, shrunk
from locater_lite.sentences import Reader
from locater_lite.sources import Source, Timed, as_source, checked

PATCHWISE = ("values", "positioned", "projected", "patch_attention")  # what `fuse` gives of every frame


class Segmented(NamedTuple):
    """One frame's answer."""

    soft: Array  # (B, H, W) float32 in [0, 1]; zeros where the mask was refused
    masks: Array  # (B, H, W) bool
    scores: tuple[float, ...] | None  # how likely each mask is right, where the network can tell; 0 for none


class Lite:
    """One exported network; it holds no video's state.

    `best` refines masks in whole frames, as `locater segment --best`; else in crops around them, which is faster.
    """

    def __init__(self, folder: str | Path, *, best: bool = False, threads: int | None = None) -> None:
        self.graphs = Graphs(Path(folder), threads)
        self.settings = self.graphs.settings
        self.reader = Reader(self.settings["text"])
        self.is_best = best

    def segment(
        self,
        frames: Source | Iterable[Array],
        frames_per_second: float,
        sentences: str | Sequence[str],
        *,
        live: bool = False,
        anyway: bool = False,
    ) -> Iterator[Segmented]:
        """Each frame's masks, as soon as they are known; frames are (H, W, 3) uint8 arrays.

        What is not `live` is read twice: first every n-th frame for the global memory, then all of them. A stream is
        read once. A sentence with a noun that the network does not know is refused, unless `anyway`.
        """
        texts = (sentences,) if isinstance(sentences, str) else tuple(sentences)
        if not texts:
            raise LocaterError("No sentence was given; say what to segment, for example 'the dog on the left'.")
        source = as_source(frames, frames_per_second)
        if not live and not source.is_repeatable:
            raise LocaterError("A stream cannot be read twice; use live=True, or give a list of frames.")
        words = self._read(texts, anyway)
        judge = None if self.graphs.second_look is None else Judge(self.graphs, self.reader, texts)
        return self._results(source, words, live, judge)

    def _read(self, texts: Sequence[str], anyway: bool) -> dict[str, Array]:
        tokens = [self.reader.read(text) for text in texts]
        refused = [told for each in tokens for told in each.not_understood]
        if refused and not anyway:
            raise LocaterError(f"{'; '.join(refused)}; use other English words, or go on without these by --anyway.")
        for notice in (notice for each in tokens for notice in each.notices):
            warnings.warn(notice, stacklevel=3)
        rows = [
            self.graphs.run("text", {"numbers": each.numbers, "word_of_token": each.word_of_token}) for each in tokens
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def _results(
        self, source: Source, words: Mapping[str, Array], is_live: bool, judge: Judge | None
    ) -> Iterator[Segmented]:
        count = len(words["words"])
        state = {name: np.repeat(cells[None], count, axis=0) for name, cells in self.graphs.first_cells.items()}
        interval, window = self.settings["interval"], self.settings["window"]
        duration = None if is_live else source.duration
        if not is_live and "global_cells" in state:  # an encoder of windows sees the frames between, too
            for some in _batches(checked(source.timed(1 if window > 1 else interval)), window):
                for index, frame in self._encoded(some, words, duration):
                    state = self._written(frame, state) if index % interval == 0 else state
        for some in _batches(checked(source.timed()), window):
            for (index, frame), (_, _, pixels) in zip(self._encoded(some, words, duration), some, strict=True):
                if is_live and index % interval == 0:
                    state = self._written(frame, state)
                logits, state = self._step(frame, words, state)
                logits, parts = self._refined(frame["frame"], pixels, logits)
                small = 1 / (1 + np.exp(-logits))
                soft = enlarged(small, *pixels.shape[:2])
                for row, part in parts.items():
                    part.onto(soft[row])
                found = Segmented(soft, soft > self.settings["threshold"], None)
                yield (
                    found if judge is None else Segmented(*judge.judged(index, pixels, small, found.soft, found.masks))
                )

    def _encoded(
        self, some: Sequence[Timed], words: Mapping[str, Array], duration: float | None
    ) -> Iterator[tuple[int, dict[str, Array]]]:
        """Each frame's number, and all of it that needs no memory; the last frame fills a window up."""
        window = self.settings["window"]
        size = input_size(some[0][2], self.settings)
        planes = [(shrunk(pixels.transpose(2, 0, 1), *size) / 255).clip(0, 1) for _, _, pixels in some]
        frames = np.stack([planes[min(t, len(some) - 1)] for t in range(window)])
        seconds = np.array([seconds for _, seconds, _ in some], np.float32)
        gone = (seconds / np.float32(duration)).clip(0, 1) if duration else np.full_like(seconds, -1)
        seen = {name: maps[: len(some)] for name, maps in self.graphs.run("visual", {"frames": frames}).items()}
        fused = self.graphs.run("fuse", {**seen, **words, "times": np.stack([seconds, gone], axis=-1)})
        for t, (index, _, _) in enumerate(some):
            early = {name: maps[[t]] for name, maps in seen.items() if name.startswith("early_")}
            yield (
                index,
                {"frame": frames[t], **early, **{name: fused[name][:, t] for name in PATCHWISE if name in fused}},
            )

    def _written(self, frame: Mapping[str, Array], state: Mapping[str, Array]) -> dict[str, Array]:
        """The state with a frame in its global memory."""
        if "write_global" not in self.graphs:
            return dict(state)
        return {**state, "global_cells": self.graphs.run("write_global", {**frame, **state})["global_cells_after"]}

    def _step(
        self, frame: Mapping[str, Array], words: Mapping[str, Array], state: Mapping[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        """One frame's logits (B, h, w), and the state after it."""
        found = self.graphs.run("step", {**frame, **words, **state})
        after = {name.removesuffix("_after"): value for name, value in found.items() if name.endswith("_after")}
        return found["logits"], {**state, **after}

    def _refined(self, frame: Array, pixels: Array, logits: Array) -> tuple[Array, dict[int, Part]]:
        """The logits along the frame's edges, and parts of them that are finer, by row."""
        if "refine" not in self.graphs:
            return logits, {}
        refine: Refine = lambda picture, masks: self.graphs.run(  # noqa: E731
            "refine", {"picture": picture, "logits": masks}
        )["refined"]
        whole = rows, columns = cells_of(frame, self.settings["enlarged"])
        if self.is_best:
            return refine(enlarged(frame, PATCH * rows, PATCH * columns)[None], logits), {}
        each = [redrawn(refine, pixels, row, self.settings, whole) for row in logits]
        return np.stack([row for row, _ in each]), {n: part for n, (_, part) in enumerate(each) if part is not None}


def _batches(frames: Iterator[Timed], size: int) -> Iterator[list[Timed]]:
    while some := list(islice(frames, size)):
        yield some
