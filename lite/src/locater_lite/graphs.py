"""The files of an exported network, opened and run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from locater_lite.errors import LocaterError
from locater_lite.pixels import Array

FORMAT = "locater-onnx-3"


class Graphs:
    """One network: its settings, its first cells, and a session per graph."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or 0  # 0: as many as there are cores
        options.enable_mem_pattern = False  # crops have many shapes, and a plan for each would be kept
        try:
            self.settings: dict[str, Any] = json.loads((folder / "model.json").read_text(encoding="utf-8"))
            is_known = self.settings.get("format") == FORMAT
        except (OSError, ValueError, AttributeError):
            raise LocaterError(f"{folder} holds no exported network; `locater export` makes one.") from None
        if not is_known:
            raise LocaterError(f"{folder} was exported by another version of Locater; export the network again.")
        try:
            self.first_cells = _arrays(folder / "first_cells.npz")
            self.second_look = _arrays(folder / "second_look.npz") if self.settings["second_look"] else None
            self._sessions = {
                name: onnxruntime.InferenceSession(folder / graph["file"], options, providers=["CPUExecutionProvider"])
                for name, graph in self.settings["graphs"].items()
            }
        except Exception as error:  # onnxruntime's have no common class
            raise LocaterError(f"{folder} is not whole: {_first_line(error)}; export the network again.") from error

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


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
