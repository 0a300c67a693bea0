"""How much memory work takes: counted tensor by tensor, told by the system, or by the GPU's allocator."""

import ctypes
import gc
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import finalize

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_STATUS, _MARKS, _PAGES = (Path("/proc/self") / name for name in ("status", "clear_refs", "statm"))


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


def peak_of_tensors(work: Callable[[], object]) -> int:
    """The most bytes of new tensors alive at once, the result among them."""
    gc.collect()
    counter = LiveTensors()
    with torch.no_grad(), counter:
        work()
    return counter.peak


def peak_of_process(work: Callable[[], object]) -> int | None:
    """Growth of the resident memory's high-water mark, an operator's scratch space included; None where unknown."""
    if not can_tell_process_peak() or not hasattr(ctypes.CDLL(None), "malloc_trim"):
        return None
    with torch.no_grad():
        work()  # loads the code that it runs
        before = restart_process_peak()
        work()
    return process_peak() - before


def peak_of_cuda(work: Callable[[], object]) -> int:
    """The most bytes that the GPU's allocator gave out above those of the inputs."""
    with torch.no_grad():
        work()  # the libraries take their workspaces once and keep them
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def can_tell_process_peak() -> bool:
    """Whether the system keeps a high-water mark that can be set back: Linux does."""
    return _MARKS.exists()


def restart_process_peak() -> int:
    """The resident bytes of now, from which the high-water mark starts again."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)  # what was freed goes back to the system, and counts anew when taken again
    _MARKS.write_text("5", "ascii")  # sets the high-water mark back to now
    return _resident("VmRSS")


def process_peak() -> int:
    """The most resident bytes since `restart_process_peak`."""
    return _resident("VmHWM")


def resident_bytes() -> int:
    """The resident bytes of now, told by Linux."""
    pages = int(_PAGES.read_bytes().split()[1])
    return pages * resource.getpagesize()


def _resident(field: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))


def _address(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
