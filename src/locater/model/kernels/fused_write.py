"""One write of the memory (Eq. 5) as a few Triton kernels, where PyTorch launches a dozen: on a GPU, without gradients.

A local write waits for the frame before it, so what a video costs is these launches, one after another. What the
kernels compute is said in `write_kernels`; that module, and Triton with it, is imported on a GPU only.
"""

import importlib
import importlib.util
import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

_RULES = ("paper", "compete")
_LARGEST = 600_000  # cells times patches: beyond it PyTorch's own products win (measured on an H200)
_SHARED = 96 * 1024  # bytes of shared memory for a program: what every GPU from Ampere on has
_HEAD_STEP = 16  # channels that a tensor core takes at once
_SUMMED, _SUM_CHANNELS = 128, 32  # cells and channels that one program sums over


def can_fuse(keyed: Tensor, from_summary: Tensor, cells: Tensor, rule: str, heads: int, norm: nn.Module) -> bool:
    """Whether `fused_write` may take this write; where not, PyTorch's own operations do."""
    if torch.compiler.is_compiling():  # or exporting: what is traced has to be PyTorch's operations
        return False
    given = (keyed, from_summary, cells)
    if rule not in _RULES or not all(tensor.is_cuda for tensor in given):
        return False
    if cells.dtype not in (torch.bfloat16, torch.float16) or any(tensor.dtype != cells.dtype for tensor in given):
        return False
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (*given, *norm.parameters())):
        return False
    is_large = cells.shape[1] * keyed.shape[1] > _LARGEST
    if is_large or keyed.shape[0] != cells.shape[0] or cells.shape[-1] // heads % _HEAD_STEP:
        return False
    return has_kernels(cells.device)


@cache
def has_kernels(device: torch.device) -> bool:
    """Whether Triton can be used there: installed, with the C compiler that it needs, and tensor cores for bfloat16."""
    if importlib.util.find_spec("triton") is None or torch.cuda.get_device_capability(device) < (8, 0):
        return False
    try:
        _kernels()
        with torch.cuda.device(device):
            importlib.import_module("triton").runtime.driver.active.get_current_target()
    except Exception:  # whatever goes wrong with somebody's compiler: nothing is lost but time
        return False
    return True


def fused_write(keyed: Tensor, from_summary: Tensor, cells: Tensor, rule: str, heads: int, norm: nn.Module) -> Tensor:
    """The cells (B, N, D) after one frame, as `WriteController` has them for `paper` and `compete`."""
    keyed, cells = (tensor if tensor.stride(-1) == 1 else tensor.contiguous() for tensor in (keyed, cells))
    is_compete = rule == "compete"
    with torch.cuda.device_of(cells):  # type: ignore[no-untyped-call]
        logits, sums = patch_logits(keyed, cells, heads, is_compete)
        added = summary_added(sums, from_summary.contiguous(), cells.shape[1])
        normalisers = competition(cells, added, logits) if is_compete else None
        written: Tensor = norm(update(keyed, cells, added, logits, normalisers))
    return written


# ---- The kernels -----------------------------------------------------------------------------------------------------


def patch_logits(keyed: Tensor, cells: Tensor, heads: int, is_compete: bool) -> tuple[Tensor, Tensor]:
    """m_n . W_o c_p (B, h, N, P) without the summary's part, and sums over _SUMMED cells each (B, parts, D)."""
    batch, count, width = cells.shape
    patches = keyed.shape[1]
    tiles = logit_tiles(count, patches, width // heads, batch * heads, cells.element_size())
    parts = math.ceil(count / _SUMMED)
    products = math.ceil(count / tiles.rows) * math.ceil(patches / tiles.columns)
    # What is rounded off a logit is lost in a sigmoid's own rounding; a softmax magnifies it.
    dtype = torch.float32 if is_compete else cells.dtype
    logits = torch.empty(batch, heads, count, patches, dtype=dtype, device=cells.device)
    sums = torch.empty(batch, parts, width, dtype=torch.float32, device=cells.device)
    _kernels().logits_kernel[(products + parts * math.ceil(width // heads / _SUM_CHANNELS), batch * heads)](
        cells,
        keyed,
        logits,
        sums,
        *(count, patches, width // heads, heads),
        *(cells.stride(0), cells.stride(1), keyed.stride(0), keyed.stride(1)),
        _scale(width // heads, is_compete),
        block_n=tiles.rows,
        block_p=tiles.columns,
        block_d=tiles.depth,
        sum_n=_SUMMED,
        sum_d=_SUM_CHANNELS,
        num_warps=tiles.warps,
        num_stages=tiles.stages,
    )
    return logits, sums


def summary_added(sums: Tensor, from_summary: Tensor, count: int) -> Tensor:
    """What the mean of `count` cells adds to every candidate and to its key (B, 2 D), in float32."""
    batch, parts, width = sums.shape
    tiles = summary_tiles(width, batch)
    added = torch.empty(batch, 2 * width, dtype=torch.float32, device=sums.device)
    _kernels().summary_kernel[(math.ceil(2 * width / tiles.rows), batch)](
        sums,
        from_summary,
        added,
        *(count, width, parts),
        block_rows=tiles.rows,
        block_parts=min(_power_of_two(parts), 16),
        block_d=tiles.depth,
        num_warps=tiles.warps,
        num_stages=tiles.stages,
    )
    return added


def competition(cells: Tensor, added: Tensor, logits: Tensor) -> Tensor:
    """What each patch's softmax over the cells is divided by (B, h, P), as a logarithm."""
    batch, heads, count, patches = logits.shape
    width = cells.shape[-1]
    tiles = competition_tiles(patches, width // heads, batch * heads)
    normalisers = torch.empty(batch, heads, patches, dtype=torch.float32, device=cells.device)
    _kernels().normaliser_kernel[(math.ceil(patches / tiles.columns), batch * heads)](
        cells,
        added,
        logits,
        normalisers,
        *(count, patches, width // heads, heads),
        *(cells.stride(0), cells.stride(1)),
        _scale(width // heads, is_compete=True),
        block_n=tiles.rows,
        block_p=tiles.columns,
        block_d=tiles.depth,
        num_warps=tiles.warps,
        num_stages=tiles.stages,
    )
    return normalisers


def update(keyed: Tensor, cells: Tensor, added: Tensor, logits: Tensor, normalisers: Tensor | None) -> Tensor:
    """The cells (B, N, D) after Eq. 5 line 3; with normalisers those of a competition, before their LayerNorm."""
    batch, heads, count, patches = logits.shape
    width = cells.shape[-1]
    is_compete = normalisers is not None
    tiles = update_tiles(count, width // heads, patches, batch * heads, logits.element_size())
    written = torch.empty(cells.shape, dtype=cells.dtype, device=cells.device)
    _kernels().update_kernel[(math.ceil(count / tiles.rows), heads * math.ceil(width // heads / tiles.columns), batch)](
        cells,
        keyed,
        added,
        logits,
        normalisers if is_compete else added,  # a kernel's pointer is never missing; this one is not followed
        written,
        *(count, patches, width // heads, heads),
        *(cells.stride(0), cells.stride(1), keyed.stride(0), keyed.stride(1)),
        _scale(width // heads, is_compete),
        is_compete=is_compete,
        block_n=tiles.rows,
        block_c=tiles.columns,
        block_p=tiles.depth,
        block_d=summary_depth(tiles.rows, width // heads),
        num_warps=tiles.warps,
        num_stages=tiles.stages,
    )
    return written


def _scale(head_width: int, is_compete: bool) -> float:
    return 1 / math.sqrt(head_width) if is_compete else 1.0  # Eq. 5 prints none


@cache
def _kernels() -> Any:
    """The module of the kernels; it cannot be imported without Triton."""
    return importlib.import_module("locater.model.kernels.write_kernels")


# ---- How the work is cut ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tiles:
    """What one program of a kernel does: rows x columns of the result, `depth` of what is summed over at a time."""

    rows: int
    columns: int
    depth: int
    warps: int = 4
    stages: int = 2  # of them in flight


def logit_tiles(count: int, patches: int, head_width: int, planes: int, item: int) -> Tiles:
    """For cells x patches, `planes` times, of `item` bytes per number."""
    rows, columns = _largest([(64, 64), (32, 64), (32, 32)], count, patches, planes, programs=32)
    depth = min(_power_of_two(head_width), 128)
    stages = _SHARED // ((rows + columns) * depth * item)
    return Tiles(rows, columns, depth, 4, max(1, min(3, stages)))


def summary_tiles(width: int, batch: int) -> Tiles:
    """For the rows of the keyed map."""
    rows, _ = _largest([(16, 1), (8, 1), (4, 1)], 2 * width, 1, batch, programs=128)
    return Tiles(rows, 1, min(_power_of_two(width), 256))


def competition_tiles(patches: int, head_width: int, planes: int) -> Tiles:
    """For patches (columns), over cells (rows) a few at a time."""
    _, columns = _largest([(1, 64), (1, 32), (1, 16)], 1, patches, planes, programs=128)
    return Tiles(512 if columns == 16 else 128, columns, min(_power_of_two(head_width), 64), warps=8)


def update_tiles(count: int, head_width: int, patches: int, planes: int, logit_item: int) -> Tiles:
    """For cells x channels, `planes` times, over patches, with logits of `logit_item` bytes."""
    widest = _power_of_two(head_width)
    choices = [(rows, min(columns, widest)) for rows, columns in ((64, 64), (32, 64), (16, 64))]
    rows, columns = _largest(choices, count, head_width, planes, programs=150)
    depth = max(16, min(_power_of_two(patches), 128))
    stages = _SHARED // (depth * (rows * logit_item + columns * 4))
    return Tiles(rows, columns, depth, 4, max(1, min(3, stages)))


def summary_depth(rows: int, head_width: int) -> int:
    """Channels at a time for the summary's part of the logits; few enough for a program's registers."""
    return min(_power_of_two(head_width), 8192 // rows, 256)


def _largest(choices: list[tuple[int, int]], rows: int, columns: int, planes: int, programs: int) -> tuple[int, int]:
    """The first of the tiles, from large to small, that makes so many programs; the last where none does."""
    for tile_rows, tile_columns in choices:
        if math.ceil(rows / tile_rows) * math.ceil(columns / tile_columns) * planes >= programs:
            return tile_rows, tile_columns
    return choices[-1]


def _power_of_two(size: int) -> int:
    """The first that is not smaller."""
    return 1 << (size - 1).bit_length()
