"""The files of an exported network, opened and run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from locater_lite.errors import LocaterError
from locater_lite.pixels import Array

FORMAT = "locater-onnx-2"


class Graphs:
    """One network: its settings, its first cells, and a session per graph."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0  # 0: as many as there are cores
        options.enable_mem_pattern = False  # crops have many shapes, and a plan for each would be kept
        try:
            self.settings: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            self.first_cells = _arrays(folder / "first_cells.npz")
            second_look = folder / "second_look.npz"
            self.second_look = _arrays(second_look) if second_look.exists() else None
        except (OSError, ValueError):
            raise LocaterError(f"{folder} holds no exported network; `locater export` makes one.") from None
        if self.settings.get("format") != FORMAT:
            raise LocaterError(f"{folder} was exported by another version of Locater; export the network again.")
        self._sessions = {
            name: onnxruntime.InferenceSession(folder / graph["file"], options, providers=["CPUExecutionProvider"])
            for name, graph in self.settings["graphs"].items()
        }

    def __contains__(self, graph: str) -> bool:
        return graph in self._sessions

    def run(self, graph: str, tensors: Mapping[str, Array]) -> dict[str, Array]:
        """The graph's outputs by name; of `tensors` it takes those that it knows."""
        names = self.settings["graphs"][graph]
        found = self._sessions[graph].run(names["outputs"], {name: tensors[name] for name in names["inputs"]})
        return dict(zip(names["outputs"], found, strict=True))


def _arrays(path: Path) -> dict[str, Array]:
    with np.load(path) as arrays:
        return dict(arrays)
