"""Checkpoints and states that somebody made to hang, to fill the memory or to break: one sentence each, at once."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from locater.errors import LocaterError
from locater.inference.segmenter import load
from locater.model.checkpoint import CONFIG, SECOND_LOOK, WEIGHTS
from locater.records import VideoState
from tests.support.command_line.clips import two_sentence_checkpoint


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return two_sentence_checkpoint(tmp_path_factory.mktemp("hostile") / "checkpoint")


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "checkpoint"))


def refused(folder: Path) -> str:
    began = time.monotonic()
    with pytest.raises(LocaterError) as told:
        load(folder)
    assert time.monotonic() - began < 20
    return str(told.value)


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    values = json.loads((folder / CONFIG).read_text())
    change(values)
    (folder / CONFIG).write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("visual.depth", 10**6, "less than or equal to 128"),
        ("visual.width", 10**9, "less than or equal to 16384"),
        ("width", 10**9, "less than or equal to 16384"),
        ("image_size", 10**12, "less than or equal to 8192"),
        ("memory.global_ratio", float("inf"), "finite number"),
        ("memory.global_ratio", float("nan"), "finite number"),
        ("memory.global_ratio", 1e300, "less than or equal to 64"),
        ("fusion.modules", 10**6, "less than or equal to 128"),
        ("text.max_words", 2**70, "less than or equal to 1024"),
        ("visual.depth", 128, "describes a larger network than"),
        ("visual.depth", 1.5, "valid integer"),
        ("width", -1, "greater than or equal to 1"),
    ],
)
def test_every_number_of_a_config_has_a_bound(copy: Path, path: str, value: float, told: str) -> None:
    def change(values: dict[str, Any]) -> None:
        *groups, key = path.split(".")
        for group in groups:
            values = values[group]
        values[key] = value

    changed(copy, change)
    assert told in refused(copy)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"[" * 100_000, "nested too deeply"),
        (b'{"width":' + b"9" * 5000 + b"}", "a number in it is too long"),
        (b"\xff\xfe\x00", "is no text"),
        (b"[]", "should be an object"),
        (b'{"memory": ' * 900 + b"1" + b"}" * 900, "recursion limit exceeded"),
        (b" " * (64 * 2**20 + 1), "has more than 67 MB"),
    ],
)
def test_configs_that_are_no_settings(copy: Path, content: bytes, told: str) -> None:
    (copy / CONFIG).write_bytes(content)
    assert told in refused(copy)


def test_pipes_and_devices_are_no_checkpoint(copy: Path) -> None:
    for name in (CONFIG, WEIGHTS):
        kept = (copy / name).read_bytes()
        (copy / name).unlink()
        os.mkfifo(copy / name)
        assert "no plain file" in refused(copy) or "missing" in refused(copy)
        (copy / name).unlink()
        (copy / name).symlink_to("/dev/zero")
        assert "no plain file" in refused(copy) or "missing" in refused(copy)
        (copy / name).unlink()
        (copy / name).write_bytes(kept)
    assert load(copy).model.config.width == 32


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite(copy: Path, value: float) -> None:
    tensors = load_file(copy / WEIGHTS)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point() and tensor.ndim == 2)
    tensors[name][0, 0] = value
    save_file(tensors, copy / WEIGHTS)
    assert f"holds numbers that are not finite, in {name}" in refused(copy)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.complex64])
def test_weights_of_a_wrong_type(copy: Path, dtype: torch.dtype) -> None:
    tensors = load_file(copy / WEIGHTS)
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point() and tensor.ndim == 2)
    tensors[name] = tensors[name].to(dtype)
    save_file(tensors, copy / WEIGHTS)
    assert f"mistyped {name}" in refused(copy)


def test_a_second_look_that_is_none(copy: Path) -> None:
    save_file({"from_crop.weight": torch.zeros(0, 10**9), "familiar": torch.zeros(1, 4)}, copy / SECOND_LOOK)
    assert "is no second look" in refused(copy)
    endless = {"rare": torch.zeros(10**6, 0)}  # whose table of pairs would not fit into any memory
    save_file({"from_crop.weight": torch.zeros(4, 10**6), "familiar": torch.zeros(1, 4), **endless}, copy / SECOND_LOOK)
    assert "is no second look" in refused(copy)


# ---- States ----------------------------------------------------------------------------------------------------------


def save_state(path: Path, tensors: dict[str, torch.Tensor], **metadata: str) -> Path:
    told = {"frame_index": "3", "is_global_complete": "true", "expressions": '["a dog"]'}
    save_file(tensors, path, metadata=told | metadata)
    return path


def cells(**changes: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"global_cells": torch.zeros(1, 6, 32), "local_cells": torch.zeros(1, 8, 32)} | changes


@pytest.mark.parametrize(
    ("tensors", "metadata"),
    [
        (cells(global_cells=torch.full((1, 6, 32), float("nan"))), {}),
        (cells(local_cells=torch.zeros(1, 8, 32, dtype=torch.int32)), {}),
        (cells(local_cells=torch.zeros(2, 8, 32)), {}),
        (cells(local_cells=torch.zeros(8, 32)), {}),
        (cells(looks=torch.zeros(1, 4)), {}),
        ({"global_cells": torch.zeros(1, 6, 32)}, {}),
        (cells(), {"frame_index": "-1"}),
        (cells(), {"frame_index": "9" * 5000}),
        (cells(), {"is_global_complete": "7"}),
        (cells(), {"expressions": "[" * 100_000}),
        (cells(), {"expressions": "[1]"}),
        (cells(), {"expressions": "5"}),
    ],
)
def test_states_that_are_none(tmp_path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    assert VideoState.load(save_state(tmp_path / "whole", cells())).frame_index == 3
    with pytest.raises(LocaterError, match="is no saved video state"):
        VideoState.load(save_state(tmp_path / "state", tensors, **metadata))


def test_a_pipe_is_no_state_and_another_networks_state_does_not_fit(whole: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path, tmp_path / "none"):
        with pytest.raises(LocaterError, match="is no saved video state"):
            VideoState.load(path)
    state = VideoState.load(save_state(tmp_path / "state", cells(), expressions='["the dog on the left"]'))
    frames = torch.zeros(5, 3, 32, 32, dtype=torch.uint8)
    with pytest.raises(LocaterError, match="belongs to another checkpoint"):
        list(load(whole).segment(frames, "the dog on the left", state=state))
