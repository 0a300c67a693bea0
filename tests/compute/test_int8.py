"""Weights in eight bits: how near they come back, and what a checkpoint does with them."""

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from locater.compute.int8 import CODES, SCALES, dequantize_int8, quantize_int8
from locater.config import preset
from locater.errors import LocaterError
from locater.model.build import build
from locater.model.checkpoint import WEIGHTS, from_pretrained, save_pretrained


@given(st.integers(0, 1000), st.lists(st.integers(1, 4), min_size=2, max_size=4), st.floats(1e-3, 1e3))
def test_a_weight_comes_back_within_half_a_step(seed: int, shape: list[int], size: float) -> None:
    tensor = size * torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    found = dequantize_int8(quantize_int8("w", tensor))["w"]
    largest = tensor.flatten(1).abs().amax(1).view(-1, *(1,) * (len(shape) - 1))
    assert ((found - tensor).abs() <= largest * (0.5 / 127 + 1e-5)).all()


def test_rows_of_zeros_stay_zero_and_others_are_left_alone() -> None:
    stored = quantize_int8("w", torch.zeros(2, 3)) | {"bias": torch.ones(3)}
    assert stored["w" + CODES].dtype == torch.int8 and stored["w" + SCALES].dtype == torch.float32
    found = dequantize_int8(stored)
    assert set(found) == {"w", "bias"} and not found["w"].any() and torch.equal(found["bias"], torch.ones(3))


def test_a_refiner_is_stored_in_eight_bits_and_nothing_else_is(tmp_path: Path) -> None:
    model = build(preset("tiny", {"text": {"vocabulary": ["dog"]}, "refiner": {"enlarged": 1.0}}), seed=0)
    save_pretrained(model, tmp_path / "c", half=True)
    stored = load_file(tmp_path / "c" / WEIGHTS)
    coded = {name for name in stored if name.endswith(CODES)}
    assert coded and all(name.startswith("refiner.") for name in coded)
    again = from_pretrained(tmp_path / "c").state_dict()
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point():
            assert (again[name] - tensor).abs().max() <= 0.01 * tensor.abs().max() + 1e-6, name
    # Whole, the same weights are what they were.
    save_pretrained(model, tmp_path / "whole")
    assert torch.equal(
        from_pretrained(tmp_path / "whole").state_dict()["refiner.neck.0.weight"],
        model.state_dict()["refiner.neck.0.weight"],
    )


def test_half_of_a_pair_is_named(tmp_path: Path) -> None:
    model = build(preset("tiny", {"text": {"vocabulary": ["dog"]}, "refiner": {"enlarged": 1.0}}), seed=0)
    save_pretrained(model, tmp_path / "c", half=True)
    stored = load_file(tmp_path / "c" / WEIGHTS)
    del stored["refiner.neck.0.weight" + SCALES]
    save_file(stored, tmp_path / "c" / WEIGHTS)
    with pytest.raises(LocaterError, match=r"does not fit its config in 1 tensors: missing refiner\.neck\.0\.weight\."):
        from_pretrained(tmp_path / "c")
