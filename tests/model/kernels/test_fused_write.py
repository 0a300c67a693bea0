"""A fused write against the plain one: in Triton's interpreter, and in low precision where there is a GPU."""

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from locater.compute.cuda_graph import CapturedGraph
from locater.model import memory
from locater.model.kernels import fused_write as fused
from locater.model.kernels.fused_write import can_fuse, fused_write
from locater.model.memory import WriteController, WriteRule

needs_gpu = pytest.mark.skipif(
    not (torch.cuda.is_available() and fused.has_kernels(torch.device("cuda"))), reason="needs a CUDA device and Triton"
)
# Triton's releases before 3.7 take a number out of an array in a way that NumPy 2.4 refuses.
_NUMPY_IS_TOO_NEW = "only 0-dimensional arrays can be converted"


@dataclass(frozen=True)
class Case:
    """The sizes of one write."""

    rule: WriteRule
    batch: int
    patches: int
    count: int
    width: int
    heads: int

    def write(self) -> tuple[WriteController, Tensor, Tensor, Tensor]:
        """A controller and its inputs, large enough for gates far from one half."""
        torch.manual_seed(0)
        controller = WriteController(self.width, self.rule, self.heads)
        for parameter in controller.norm.parameters():
            nn.init.normal_(parameter, 1.0, 0.3)
        keyed = torch.randn(self.batch, self.patches, 2 * self.width)
        keyed[..., self.width :] *= 2 * self.width**-0.5
        from_summary = torch.randn(2 * self.width, self.width) * 2 * self.width**-0.5
        return controller, keyed, from_summary, torch.randn(self.batch, self.count, self.width) + 0.3


ODD = [
    Case(rule, batch, patches, count, width, heads)
    for rule in ("paper", "compete")
    for batch, patches, count, width, heads in (
        (2, 37, 21, 48, 1),
        (2, 37, 21, 96, 2),
        (1, 5, 3, 16, 1),
        (1, 70, 140, 96, 3),  # several blocks of everything
    )
]
REAL = [
    Case("paper", 1, 256, 384, 768, 1),
    Case("paper", 1, 256, 512, 768, 1),
    Case("paper", 1, 400, 800, 768, 1),
    Case("paper", 2, 37, 21, 96, 2),
    Case("compete", 1, 400, 400, 256, 4),
    Case("compete", 3, 397, 403, 256, 4),
    Case("compete", 8, 400, 400, 256, 4),
]


@torch.no_grad()
def interpreted_differences() -> list[float]:
    """Of the odd cases, from the plain write; Triton has to be told to interpret before it is imported."""
    differences = []
    for case in ODD:
        controller, keyed, from_summary, cells = case.write()
        # One of a chunk's frames, and cells that are the same for a whole batch, are not contiguous.
        keyed = torch.stack([keyed, keyed + 1], dim=1)[:, 0]
        cells = cells[:1].expand(case.batch, -1, -1)
        plain = controller(keyed, from_summary, cells)
        found = fused_write(keyed, from_summary, cells, case.rule, case.heads, controller.norm)
        differences.append((found - plain).abs().max().item())
    return differences


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_the_kernels_write_what_pytorch_writes() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=False)
    if _NUMPY_IS_TOO_NEW in done.stderr:
        pytest.skip("this Triton's interpreter does not work with this NumPy")
    assert done.returncode == 0, done.stderr
    for case, difference in zip(ODD, json.loads(done.stdout), strict=True):
        assert difference < 5e-6, case


def test_a_cpu_writes_without_triton() -> None:
    script = (
        "import sys, torch\n"
        "from locater.model.memory import WriteController\n"
        "with torch.no_grad():\n"
        "    WriteController(16, 'paper', 1).write(torch.randn(1, 4, 32), torch.randn(32, 16), torch.randn(1, 3, 16))\n"
        "assert not {'triton', 'locater.model.kernels.write_kernels'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


REFUSED: dict[str, dict[str, Any]] = {
    "float32": {"dtype": torch.float32},
    "a CPU": {"device": "cpu"},
    "another rule": {"rule": "sum"},
    "narrow heads": {"heads": 8},
    "many cells": {"count": 200_000},
    "a gradient": {"requires_grad": True},
}


@pytest.mark.parametrize("why", [None, *REFUSED])
def test_what_is_fused(why: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "has_kernels", lambda _: True)
    changes: dict[str, Any] = {
        "rule": "paper",
        "heads": 1,
        "count": 3,
        "device": "cuda",
        "dtype": torch.bfloat16,
        "requires_grad": False,
    }
    changes |= {} if why is None else REFUSED[why]
    rule, heads, count = (changes.pop(name) for name in ("rule", "heads", "count"))
    with FakeTensorMode():
        given = torch.empty(1, 5, 96, **changes), torch.empty(96, 48, **changes), torch.empty(1, count, 48, **changes)
    assert can_fuse(*given, rule, heads, nn.Identity()) == (why is None)
    with torch.no_grad():
        assert can_fuse(*given, rule, heads, nn.Identity()) == (why in (None, "a gradient"))


def test_a_norm_that_learns_is_not_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "has_kernels", lambda _: True)
    like: dict[str, Any] = {"device": "cuda", "dtype": torch.float16}
    with FakeTensorMode():
        given = torch.empty(1, 5, 96, **like), torch.empty(96, 48, **like), torch.empty(1, 3, 48, **like)
    assert not can_fuse(*given, "compete", 1, nn.LayerNorm(48))
    with torch.no_grad():
        assert can_fuse(*given, "compete", 1, nn.LayerNorm(48))


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 64).map(lambda steps: 16 * steps), st.integers(1, 64))
def test_tiles_fit_into_a_processor(count: int, patches: int, head_width: int, planes: int) -> None:
    logit = fused.logit_tiles(count, patches, head_width, planes, item=2)
    assert logit.stages * (logit.rows + logit.columns) * logit.depth * 2 <= 96 * 1024
    update = fused.update_tiles(count, head_width, patches, planes, logit_item=4)
    assert update.stages * update.depth * (update.rows * 4 + update.columns * 2) <= 96 * 1024
    for tiles in (logit, update, fused.summary_tiles(head_width, planes)):
        for size in (tiles.rows, tiles.columns, tiles.depth, fused.summary_depth(tiles.rows, head_width)):
            assert size & (size - 1) == 0
    for tiles in (logit, update):
        assert min(tiles.rows, tiles.columns, tiles.depth) >= 16  # what a tensor core takes


@pytest.mark.gpu
@needs_gpu
@pytest.mark.parametrize(("dtype", "limit"), [(torch.bfloat16, 1e-2), (torch.float16, 2e-3)], ids=str)
@pytest.mark.parametrize("case", REAL, ids=lambda case: "-".join(map(str, asdict(case).values())))
@torch.no_grad()
def test_a_gpu_writes_in_low_precision_what_float32_writes(
    case: Case, dtype: torch.dtype, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, *given = case.write()
    controller = controller.cuda().to(dtype)
    keyed, from_summary, cells = (tensor.cuda().to(dtype) for tensor in given)
    taken = []

    def listened(*given: Any) -> Tensor:
        taken.append(given)
        return fused_write(*given)

    monkeypatch.setattr(memory, "fused_write", listened)

    def thrice(keyed: Tensor, from_summary: Tensor, cells: Tensor) -> tuple[Tensor, ...]:
        first = controller.write(keyed, from_summary, cells)
        return first, controller.write(keyed, from_summary, controller.write(keyed.flip(1), from_summary, first))

    found = thrice(keyed, from_summary, cells)
    assert len(taken) == 3
    replayed = CapturedGraph(thrice, keyed.flip(1), from_summary, cells.flip(1))(keyed, from_summary, cells)
    exact = controller.float()(keyed.float(), from_summary.float(), cells.float())
    assert ((found[0].float() - exact).norm() / exact.norm()).item() < limit
    for ours, theirs in zip(replayed, found, strict=True):
        assert torch.equal(ours, theirs)


if __name__ == "__main__":
    print(json.dumps(interpreted_differences()))
