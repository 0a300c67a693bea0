"""Averages of checkpoints: what several trainings agree on, with less of what each learned by heart."""

import copy
import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from locater.config import ModelConfig
from locater.errors import LocaterError
from locater.io.atomic import atomic_path
from locater.io.scratch import remove_abandoned
from locater.model.checkpoint import WEIGHTS, save_pretrained
from locater.model.locater import Locater
from locater.training.recipe import AverageConfig

RECORD = "average.json"
# Steps that a norm's statistics were taken over: a count that nothing computes with, so it need not agree.
_COUNT = ".num_batches_tracked"
# Settings that no weight depends on: where the first came from, what is left out in training, and what use alone reads.
_MAY_DIFFER = {"pretrained", "drop_path", "interval", "keep_aspect"}


def average(models: Sequence[Locater], config: AverageConfig) -> Locater:
    """The weighted mean of networks of one config, `config.of` being their names; what they hold stays as it is."""
    for name, model in zip(config.of[1:], models[1:], strict=True):
        _check_same(models[0], config.of[0], model, name)
    _check_parts(models[0], config)
    states = [model.state_dict() for model in models]
    mean = {name: _mean(name, [state[name] for state in states], config) for name in states[0]}
    result = copy.deepcopy(models[0])
    result.load_state_dict(mean)
    return result


def write_average(
    config: AverageConfig,
    checkpoints: Sequence[Path],
    folder: Path,
    opened: Callable[[Path], Locater],
) -> None:
    """Leave the average of checkpoint folders in `folder`/checkpoint, unless the same is there already."""
    record = folder / RECORD
    wanted: dict[str, Any] = {**config.model_dump(mode="json"), "sha256": [_digest(path) for path in checkpoints]}
    if _read(record) == wanted:
        remove_abandoned(folder)  # of a run that was killed after its last rename
        return
    record.unlink(missing_ok=True)  # what it tells of is about to change
    save_pretrained(average([opened(path) for path in checkpoints], config), folder / "checkpoint")
    with atomic_path(record) as partial:
        partial.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")


def check_alike(ours: ModelConfig, their_name: str, theirs: ModelConfig) -> None:
    """Nothing, where a checkpoint can be averaged in a run on the network `ours`, whatever words each knows."""
    differing = [
        key
        for key in _differing(ours, theirs)
        if not key.startswith("text.") and key.split(".")[-1] not in _MAY_DIFFER  # words are brought to one numbering
    ]
    if differing:
        raise LocaterError(
            f"{their_name} and this run differ in {', '.join(differing[:3])}; only checkpoints of one network can be "
            "averaged."
        )


def _mean(name: str, tensors: Sequence[Tensor], config: AverageConfig) -> Tensor:
    parts = [part for part in config.parts if name.startswith(f"{part}.")]
    weights = config.parts[max(parts, key=len)] if parts else config.weights
    if not tensors[0].is_floating_point():
        if name.endswith(_COUNT):
            return torch.stack(list(tensors)).amax(0)
        if not all(torch.equal(tensors[0], other) for other in tensors[1:]):
            raise LocaterError(
                f"{' and '.join(config.of)} differ in {name}, whole numbers that have no mean; they were not built "
                "alike and cannot be averaged."
            )
        return tensors[0]
    # In float64, so that a checkpoint of weight 1 comes out bit for bit.
    shares = [(weight / sum(weights), tensor) for weight, tensor in zip(weights, tensors, strict=True) if weight]
    return torch.stack([share * tensor.double() for share, tensor in shares]).sum(0).to(tensors[0].dtype)


def _check_same(ours: Locater, our_name: str, theirs: Locater, their_name: str) -> None:
    if differing := _differing(ours.config, theirs.config):
        raise LocaterError(
            f"{our_name} and {their_name} differ in {', '.join(differing[:3])}; only checkpoints of one config, "
            "vocabulary included, can be averaged."
        )


def _differing(ours: ModelConfig, theirs: ModelConfig) -> list[str]:
    """The dotted names of the settings in which two networks differ."""
    first, second = (_flat(config.model_dump(mode="json")) for config in (ours, theirs))
    return sorted(key for key in first.keys() | second.keys() if first.get(key) != second.get(key))


def _check_parts(model: Locater, config: AverageConfig) -> None:
    for part in config.parts:
        if not any(name.startswith(f"{part}.") for name in model.state_dict()):
            known = ", ".join(name for name, _ in model.named_children())
            raise LocaterError(f"The networks have no part '{part}' to be averaged by itself; they have {known}.")


def _flat(values: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return found


def _digest(checkpoint: Path) -> str:
    path = checkpoint / WEIGHTS
    if not path.is_file():
        raise LocaterError(f"{path} is missing; the stage that an average takes its weights from has none.")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(record: Path) -> Any:
    try:
        return json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
