"""Everything a training needs to continue: weights, averages, optimiser, random state, step; whole or not at all.

Stored as safetensors and JSON, never as pickles. A state's folder is written beside and renamed to `state-<step>`,
so a kill at any moment leaves the last whole one. The data needs no state: a batch is a function of its number.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from locater.io.atomic import atomic_folder, plain_os_errors
from locater.io.text_files import read_json

_FOLDER = "state-{:08d}"


def save_state(
    folder: Path, step: int, weights: dict[str, nn.Module], optimizer: torch.optim.Optimizer, scaler: dict[str, Any]
) -> None:
    """Write `folder`/state-<step>; `keep_newest` drops the older ones."""
    target = folder / _FOLDER.format(step)
    with atomic_folder(target) as partial:
        for name, module in weights.items():
            save_file(
                {key: value.contiguous() for key, value in module.state_dict().items()}, partial / f"{name}.safetensors"
            )
        tensors, numbers = _flat(optimizer)
        save_file(tensors | _random_state(), partial / "optimizer.safetensors")
        (partial / "progress.json").write_text(json.dumps({"step": step, "optimizer": numbers, "scaler": scaler}))


def keep_newest(folder: Path) -> None:
    """Drop every state but the newest; also what a kill left of this."""
    for old in sorted(folder.glob("state-*"))[:-1]:
        with plain_os_errors(old):
            shutil.rmtree(old)


def load_state(
    folder: Path, weights: dict[str, nn.Module], optimizer: torch.optim.Optimizer
) -> tuple[int, dict[str, Any]]:
    """The step and scaler of the newest whole state, everything else restored; step 0 where there is none."""
    states = sorted(folder.glob("state-*"))
    if not states:
        return 0, {}
    newest = states[-1]
    progress = read_json(newest / "progress.json", f"remove {newest} and run again")
    for name, module in weights.items():
        module.load_state_dict(load_file(newest / f"{name}.safetensors"))
    tensors = load_file(newest / "optimizer.safetensors")
    _restore_random_state(tensors)
    _restore(optimizer, tensors, progress["optimizer"])
    return int(progress["step"]), progress["scaler"]


def _flat(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimiser's state as named tensors and plain numbers."""
    state = optimizer.state_dict()
    tensors = {
        f"{place}.{name}": value.contiguous()
        for place, values in state["state"].items()
        for name, value in values.items()
    }
    return tensors, {"param_groups": state["param_groups"]}


def _restore(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], numbers: dict[str, Any]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        place, _, name = key.partition(".")
        if place.isdigit():
            state.setdefault(int(place), {})[name] = value
    optimizer.load_state_dict({"state": state, **numbers})


def _random_state() -> dict[str, Tensor]:
    states = {"random.cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["random.cuda"] = torch.cuda.get_rng_state()
    return states


def _restore_random_state(tensors: dict[str, Tensor]) -> None:
    torch.set_rng_state(tensors["random.cpu"])
    if torch.cuda.is_available() and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])
