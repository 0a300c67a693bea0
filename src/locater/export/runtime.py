"""An exported network, run by onnxruntime on numpy arrays: what `locater export` checks and times its files with."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from locater.errors import LocaterError

Array = npt.NDArray[Any]
SETTINGS, FIRST_CELLS = "model.json", "first_cells.npz"
FUSED = ("values", "positioned", "projected", "patch_attention")  # what `fuse` gives of every frame
PATCH = 16  # pixels of a cell that a refiner sees


class ExportedModel:
    """The graphs of one folder; like the network, it holds no video's state."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        try:
            self.settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
            with np.load(folder / FIRST_CELLS) as cells:
                self.first_cells: dict[str, Array] = dict(cells)
        except (OSError, ValueError):
            raise LocaterError(f"{folder} holds no exported network; `locater export` makes one.") from None
        self._sessions = {
            name: onnxruntime.InferenceSession(folder / graph["file"], options, providers=["CPUExecutionProvider"])
            for name, graph in self.settings["graphs"].items()
        }

    def run(self, graph: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
        """The graph's outputs by name; of `tensors` it takes those that it knows."""
        names = self.settings["graphs"][graph]
        found = self._sessions[graph].run(names["outputs"], {name: tensors[name] for name in names["inputs"]})
        return dict(zip(names["outputs"], found, strict=True))

    def read(self, numbers: Array, word_of_token: Array) -> dict[str, Array]:
        """The encoded sentences, (B, W, ...) each, from tokens (B, W') encoded one sentence at a time."""
        rows = [
            self.run("text", {"numbers": numbers[[row]], "word_of_token": word_of_token[[row]]})
            for row in range(len(numbers))
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def initial_state(self, batch: int) -> dict[str, Array]:
        """The state before any frame, one set of cells per expression."""
        return {name: np.repeat(cells[None], batch, axis=0) for name, cells in self.first_cells.items()}

    def encode(self, frames: Array, times: Array, words: Mapping[str, Array]) -> dict[str, Array]:
        """A chunk (T, 3, S, S') fused with the words: frame t of it is `frame_of(chunk, t)`."""
        seen = self._see(frames)
        return {"frames": frames, **seen, **self.run("fuse", {**seen, **words, "times": times})}

    def _see(self, frames: Array) -> dict[str, Array]:
        """What the visual encoder makes of frames; one of windows takes whole ones, the last frame repeated."""
        window = self.settings["window"]
        if window == 1:
            return self.run("visual", {"frames": frames})
        filled = frames[np.minimum(np.arange(-(-len(frames) // window) * window), len(frames) - 1)]
        parts = [self.run("visual", {"frames": part}) for part in filled.reshape(-1, window, *frames.shape[1:])]
        return {name: np.concatenate([part[name] for part in parts])[: len(frames)] for name in parts[0]}

    def write_global(self, frame: Mapping[str, Array], state: Mapping[str, Array]) -> dict[str, Array]:
        """The state with one frame written into its global memory; unchanged where there is none."""
        if "write_global" not in self._sessions:
            return dict(state)
        written = self.run("write_global", {**frame, **state})
        return {**state, "global_cells": written["global_cells_after"]}

    def step(
        self, frame: Mapping[str, Array], words: Mapping[str, Array], state: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """One frame's `logits` (B, h, w) and `word_attention` (B, W), and the state after it."""
        found = self.run("step", {**frame, **words, **state})
        if "refine" in self._sessions:
            picture = self._enlarged(frame["frame"])
            found["logits"] = self.run("refine", {"picture": picture, **found})["refined"]
        after = {name: found.pop(f"{name}_after") for name in ("local_cells", "evidence") if f"{name}_after" in found}
        return found, {**state, **after}

    def _enlarged(self, frame: Array) -> Array:
        """The frame (1, 3, S, S') as large as the refiner sees it."""
        height, width = (max(1, round(side * self.settings["enlarged"] / PATCH)) * PATCH for side in frame.shape[-2:])
        planes = [Image.fromarray(plane).resize((width, height), Image.Resampling.BILINEAR) for plane in frame[0]]
        return np.stack([np.asarray(plane) for plane in planes])[None]

    def logits(
        self, frames: Array, times: Array, words: Mapping[str, Array], chunk: int, sampled: Sequence[int]
    ) -> Iterator[Array]:
        """Each frame's logits (B, h, w), after the `sampled` frames are written into the global memory."""
        state = self.initial_state(len(words["words"]))
        window = self.settings["window"]
        for t in sampled:
            seen = slice(t - t % window, t - t % window + window)  # an encoder of windows sees the frames around it
            encoded = self.encode(frames[seen], times[seen], words)
            state = self.write_global(frame_of(encoded, t % window), state)
        for first in range(0, len(frames), chunk):
            some = slice(first, first + chunk)
            encoded = self.encode(frames[some], times[some], words)
            for t in range(len(frames[some])):
                found, state = self.step(frame_of(encoded, t), words, state)
                yield found["logits"]


def frame_of(chunk: Mapping[str, Array], t: int) -> dict[str, Array]:
    """One frame of a chunk; early maps (T, C, h, w) are shared by all expressions and keep a first axis of 1."""
    fused = {name: chunk[name][:, t] for name in FUSED if name in chunk}
    early = {name: maps[[t]] for name, maps in chunk.items() if name.startswith("early_")}
    return {"frame": chunk["frames"][[t]], **fused, **early}
