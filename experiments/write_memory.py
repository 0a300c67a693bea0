"""Prints the peak memory of one global and one local memory write at the paper's 512 x 512 size, above its inputs.

    python -m experiments.write_memory

Written literally, Eq. 5 and 6 build a (B, N, P, D) tensor; the factorised form must stay under 100 MB, else the exit
code is 1. `tensors` counts the bytes of all that PyTorch's operators return, as long as it lives; `process` (Linux with
glibc) is the growth of the process's highest resident memory, which sees an operator's scratch space too; `cuda` asks
the GPU's allocator. Gradients are off, as when a video is segmented.
"""

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import finalize

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from experiments.machine import machine
from locater.config import ModelConfig, preset
from locater.model.memory import LocalGlobalMemory, LocalWrites, WriteRule

LIMIT = 100e6  # bytes
RULES: tuple[WriteRule, ...] = ("paper", "sum", "compete")
Write = Callable[[], Tensor]


class LiveTensors(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of every storage made inside, until it dies; and the most elements that one of them held."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = self.peak = self.most_elements = 0
        self._counted: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator and count what it made."""
        given = {_address(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        made = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(made):
            if isinstance(leaf, Tensor) and _address(leaf) not in given | self._counted:  # else a view, or in place
                self._count(leaf)
        return made

    def _count(self, tensor: Tensor) -> None:
        storage, size, address = tensor.untyped_storage(), tensor.untyped_storage().nbytes(), _address(tensor)
        self.most_elements = max(self.most_elements, size // tensor.element_size())
        self.live += size
        self.peak = max(self.peak, self.live)
        self._counted.add(address)
        finalize(storage, self._forget, address, size)  # PyTorch keeps this object as long as the memory

    def _forget(self, address: int, size: int) -> None:
        self._counted.discard(address)
        self.live -= size


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def paper_at_512(rule: WriteRule) -> ModelConfig:
    """The paper's network at its largest input: P = 1024, D = 768, N_g = 1.5 P, N_l = 2 P."""
    return preset("paper", {"image_size": 512, "memory": {"write": rule}})


def writes(config: ModelConfig, device: str) -> dict[str, Write]:
    """One global and one local write of one frame (B = 1), ready to run; their inputs are already there."""
    torch.manual_seed(0)
    settings = config.memory
    memory = LocalGlobalMemory(
        config.width,
        config.global_cells,
        config.local_cells,
        settings.write,
        settings.heads,
        settings.time_embedding,
        settings.place_embedding,
    ).to(device)
    values = torch.randn(1, 1, config.patches, config.width, device=device)
    soft_mask = torch.rand(1, config.grid, config.grid, device=device)
    global_cells, local_cells = memory.initial_state(1)
    grid = (config.grid, config.grid)
    return {
        "global": lambda: memory.write_global(values, global_cells),
        "local": lambda: memory.write_local(_prepared(memory, values), 0, soft_mask, grid, local_cells),
    }


def _prepared(memory: LocalGlobalMemory, projected: Tensor) -> LocalWrites:
    writes = memory.prepare_local(projected)
    assert writes is not None
    return writes


def literal_elements(config: ModelConfig, name: str) -> int:
    """N x P x D of the equation as printed, B = 1."""
    cells = config.global_cells if name == "global" else config.local_cells
    return cells * config.patches * config.width


def peak_of_tensors(write: Write) -> int:
    """The most bytes of new tensors alive at once, the result among them."""
    gc.collect()
    counter = LiveTensors()
    with torch.no_grad(), counter:
        write()
    return counter.peak


def peak_of_process(write: Write) -> int | None:
    """Growth of the resident memory's high-water mark; None where the system does not tell."""
    marks = Path("/proc/self/clear_refs")
    if not marks.exists() or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        return None
    with torch.no_grad():
        write()  # loads the code that it runs
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system, and counts anew when taken again
        marks.write_text("5")  # sets the high-water mark back to now
        before = _resident("VmRSS")
        write()
    return _resident("VmHWM") - before


def _resident(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def peak_of_cuda(write: Write) -> int:
    """The most bytes that the GPU's allocator gave out above those of the inputs."""
    with torch.no_grad():
        write()  # the libraries take their workspaces once and keep them
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        write()
        torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def main() -> int:
    """0 when every measured peak stays under the limit."""
    print(machine())
    config = paper_at_512("paper")
    print(f"B = 1, P = {config.patches}, D = {config.width}, N_g = {config.global_cells}, N_l = {config.local_cells}")
    print(f"{'write':<16}{'literal MB':>12}{'tensors MB':>12}{'process MB':>12}{'cuda MB':>12}")
    worst = 0
    for rule in RULES:
        config = paper_at_512(rule)
        on_gpu = writes(config, "cuda") if torch.cuda.is_available() else {}
        for name, write in writes(config, "cpu").items():
            peaks = [
                peak_of_tensors(write),
                peak_of_process(write),
                peak_of_cuda(on_gpu[name]) if on_gpu else None,
            ]
            worst = max(worst, *(peak for peak in peaks if peak is not None))
            shown = "".join(f"{'-' if peak is None else f'{peak / 1e6:.1f}':>12}" for peak in peaks)
            print(f"{f'{rule} {name}':<16}{4 * literal_elements(config, name) / 1e6:>12.1f}{shown}")
    print(f"largest: {worst / 1e6:.1f} MB; the limit is {LIMIT / 1e6:.0f} MB")
    return int(worst >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
