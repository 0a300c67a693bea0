"""The peak memory of one global and one local memory write at 512 x 512 pixels, above its inputs.

Written literally, Eq. 5 and 6 build a (B, N, P, D) tensor; the factorised form must stay under 100 MB.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check
from locater.bench.harness.peaks import peak_of_cuda, peak_of_process, peak_of_tensors
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.config import ModelConfig, preset
from locater.model.memory import LocalGlobalMemory, LocalWrites, WriteRule

SIZE, QUICK_SIZE = 512, 64  # pixels per side
LIMIT = 100.0  # MB
RULES: tuple[WriteRule, ...] = ("paper", "sum", "compete")
Write = Callable[[], Tensor]


def run(request: BenchRequest) -> Report:
    """The peaks of both writes by each rule, counted in every way that this machine has."""
    size = QUICK_SIZE if request.is_quick else SIZE
    rows: list[Row] = []
    for rule in RULES:
        config = config_at(request.preset, size, rule)
        on_gpu = writes(config, request.device) if request.is_cuda else {}
        for name, write in writes(config, torch.device("cpu")).items():
            of_process = peak_of_process(write)
            rows.append(
                {
                    "write": f"{rule}, {name}",
                    "literal_MB": 4 * literal_elements(config, name) / 1e6,
                    "tensors_MB": peak_of_tensors(write) / 1e6,
                    "process_MB": None if of_process is None else of_process / 1e6,
                    "cuda_MB": peak_of_cuda(on_gpu[name]) / 1e6 if on_gpu else None,
                }
            )
    measured = ("tensors_MB", "process_MB", "cuda_MB")
    worst = {row["write"]: max(row[column] for column in measured if row[column] is not None) for row in rows}
    return Report(
        name="write-memory",
        title=f"one memory write of {request.preset} at {size} pixels: P {config.patches}, D {config.width}, "
        f"{config.global_cells} global and {config.local_cells} local cells, float32",
        timed="nothing; MB above the inputs that one write of one frame takes at most, without gradients. literal: the "
        "(N, P, D) tensor of the equation as printed. tensors: all that PyTorch's operators return, as long as it "
        "lives. process: growth of the process's highest resident memory, scratch space included. cuda: the GPU's "
        "allocator.",
        columns=("write", "literal_MB", *measured),
        chart=Bars("Peak memory of one write", "MB, the largest of what was measured", worst),
        rows=rows,
        checks=[Check(f"{name}: MB at most", peak, LIMIT) for name, peak in worst.items()],
    )


def config_at(name: str, size: int, rule: WriteRule) -> ModelConfig:
    """A preset's network at that size; the paper's at 512 has P = 1024, D = 768, N_g = 1.5 P and N_l = 2 P."""
    return preset(name, {"image_size": size, "memory": {"write": rule}})


def writes(config: ModelConfig, device: torch.device) -> dict[str, Write]:
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


def literal_elements(config: ModelConfig, name: str) -> int:
    """N x P x D of the equation as printed, B = 1."""
    cells = config.global_cells if name == "global" else config.local_cells
    return cells * config.patches * config.width


def _prepared(memory: LocalGlobalMemory, projected: Tensor) -> LocalWrites:
    writes = memory.prepare_local(projected)
    assert writes is not None
    return writes
