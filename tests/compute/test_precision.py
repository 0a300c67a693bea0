"""Which precision is chosen where none is named."""

from typing import Any

import pytest
import torch

from locater.compute.precision import find_precision
from locater.errors import LocaterError

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ({"avx512_bf16": True, "amx_bf16": False}, "bfloat16"),
        ({"avx512_bf16": False, "amx_bf16": True}, "bfloat16"),
        ({"avx512_bf16": False, "avx512_f": True}, "float32"),
        ({}, "float32"),
    ],
)
def test_a_cpu_computes_bfloat16_where_it_has_instructions_for_it(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, Any], expected: str
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    assert find_precision("auto", CPU) == expected
    assert find_precision("float32", CPU) == find_precision(None, CPU) == "float32"


def test_a_gpu_computes_bfloat16() -> None:
    assert find_precision("auto", torch.device("cuda")) == "bfloat16"


def test_float16_and_unknown_names_are_refused_on_a_cpu() -> None:
    with pytest.raises(LocaterError, match="float16 needs a GPU"):
        find_precision("float16", CPU)
    with pytest.raises(LocaterError, match="choose one of auto, float32"):
        find_precision("float8", CPU)
