"""(b) The memory module against a Transformer block over all tokens, by the length of the video (the paper's table)."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from locater.bench.harness.chart import Lines
from locater.bench.harness.checks import Check, agreement
from locater.bench.harness.clip import preset_config
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import Timing, measure
from locater.bench.suites.memory_ways import Way
from locater.errors import LocaterError
from locater.model.compiled import compile_parts
from locater.model.memory import LocalGlobalMemory
from locater.model.transformer import EncoderBlock
from locater.published.tables import printed_table

TOKENS, WIDTH, HEADS = 256, 768, 12  # the paper's
LENGTHS = (15, 30, 50, 80, 100, 300, 1_000, 10_000)
CHECKED_FRAMES = 30
BLOCK_LIMIT = 20.0  # seconds


@dataclass(frozen=True)
class Setting:
    """The memory that is measured, and how it is fed."""

    memory: LocalGlobalMemory  # float32
    tokens: int
    width: int
    interval: int  # every n-th frame is written to the global memory
    lengths: tuple[int, ...]


def run(request: BenchRequest, lengths: tuple[int, ...] = LENGTHS, block_seconds: float = BLOCK_LIMIT) -> Report:
    """Milliseconds per frame at every length: the memory, run in each way that gives the same, and the block.

    A block that would take longer than `block_seconds` is not run.
    """
    setting = _setting(request, lengths)
    ways, checks = checked_ways(request, setting, _ways(request, setting))
    rows = _rows(request, setting, ways, block_seconds)
    memory = setting.memory
    return Report(
        name="memory",
        title=f"the memory of {request.preset}, {setting.tokens} tokens per frame, D {setting.width}, "
        f"{len(memory.global_start)} global and {len(memory.local_start)} local cells, {request.precision}",
        timed="milliseconds per frame from V on the device to G_t on the device: W_v v, the global write of every "
        f"{setting.interval}th frame, then for every frame the read of both memories (Eq. 7, 8) and the local write. "
        "The local write is Eq. 6 without s_t, the mask's embedding: there is no decoder here that would make a mask, "
        f"and the paper's table has none. The block: one pre-norm block of {HEADS} heads over all tokens of all "
        "frames at once, by scaled_dot_product_attention.",
        columns=("frames", "what", "median_ms", "lowest_ms", "highest_ms", "block / memory"),
        chart=Lines("Memory and Transformer block by video length", "frames", "ms per frame", _series(rows)),
        rows=rows,
        checks=checks,
        notes=[f"The paper, ms per frame at {_printed()}."],
    )


def _printed() -> str:
    printed = printed_table("ablation_efficiency")
    rows = "; ".join(f"{row.name} {', '.join(row.cells.values())}" for row in printed.rows)
    return f"{', '.join(printed.columns)}: {rows}"


def _setting(request: BenchRequest, usual: tuple[int, ...]) -> Setting:
    config = preset_config(request)
    settings = config.memory
    if not (settings.global_ratio and settings.local_ratio):
        raise LocaterError(f"The preset {request.preset} lacks a memory; choose one that has both, for example paper.")
    tokens, width = (16, config.width) if request.is_quick else (TOKENS, WIDTH)
    torch.manual_seed(0)
    memory = LocalGlobalMemory(
        width=width,
        global_cells=round(settings.global_ratio * tokens),
        local_cells=round(settings.local_ratio * tokens),
        rule=settings.write,
        heads=settings.heads,
        time_embedding=False,  # V comes in with its time and place on it
        place_embedding=False,
        read_mlp=settings.read_mlp,
    )
    lengths = (4, 8) if request.is_quick else usual
    return Setting(memory.to(request.device).eval(), tokens, width, settings.interval, lengths)


def _ways(request: BenchRequest, setting: Setting) -> dict[str, Way]:
    """Everything in the precision request for; there is no autocast here."""
    own = copy.deepcopy(setting.memory).to(request.dtype)
    ways = {"eager": Way.of(own)}
    if request.is_cuda:
        ways["CUDA graph"] = Way.of(own).captured()
        if request.is_compiled:
            fused = copy.deepcopy(own)
            compile_parts(fused)
            ways["compiled"] = Way.of(fused)
            ways["compiled, CUDA graph"] = Way.of(fused).captured()
    return ways


def checked_ways(request: BenchRequest, setting: Setting, ways: dict[str, Way]) -> tuple[dict[str, Way], list[Check]]:
    """The ways whose results are those of plain float32, and how near each is.

    G is mostly V, so that a wrong memory would hardly show in it: in float32 what was read is compared alone, and
    everywhere the local cells too.
    """
    values = _tokens(setting, min(CHECKED_FRAMES, setting.lengths[-1]), request).float()
    with torch.inference_mode():
        own = Way.of(setting.memory)
        exact, exact_cells = _results(setting, own.frame_by_frame(), values)
        chunked, chunked_cells = _results(setting, own, values)
        checks = [
            agreement("in chunks, float32, what was read", exact - values, chunked - values),
            agreement("in chunks, float32, local cells", exact_cells, chunked_cells),
        ]
        kept = {}
        for name, way in ways.items():
            found, cells = _results(setting, way, values.to(request.dtype))
            checked = [
                agreement(f"{name}, {request.precision} against float32, G", exact, found, request.dtype),
                agreement(
                    f"{name}, {request.precision} against float32, local cells", exact_cells, cells, request.dtype
                ),
            ]
            checks += checked
            if all(check.holds for check in checked):
                kept[name] = way
    return kept, checks


def _results(setting: Setting, way: Way, values: Tensor) -> tuple[Tensor, Tensor]:
    """G (1, T, P, D) of a whole video, and the local cells after it."""
    contexts: list[Tensor] = []
    cells = way.run(values, _first_cells(setting, values.dtype), setting.interval, contexts)
    return torch.cat(contexts, dim=1), cells.clone()


def _rows(request: BenchRequest, setting: Setting, ways: dict[str, Way], block_seconds: float) -> list[Row]:
    heads = HEADS if setting.width % HEADS == 0 else 1
    block = EncoderBlock(setting.width, heads).to(request.device, request.dtype).eval()
    rows: list[Row] = []
    longest: tuple[int, float] | None = None  # frames and seconds of the block that was run last
    for length in setting.lengths:
        values = _tokens(setting, length, request)
        cells = _first_cells(setting, request.dtype)
        times: dict[str, float] = {}
        for name, way in ways.items():
            with torch.inference_mode():
                timing = measure(
                    lambda way=way: way.run(values, cells, setting.interval),  # type: ignore[misc]  # noqa: B023
                    request.device,
                    request.repeats,
                )
            rows.append({"frames": length, "what": f"memory, {name}", **timing.milliseconds(length)})
            times[name] = timing.median
        expected = longest[1] * (length / longest[0]) ** 2 if longest else 0.0  # attention soon is all of it
        timed = None if expected > block_seconds else _block_time(request, block, values)
        if timed is None:
            reason = f"not run, about {expected:.0f} s" if expected > block_seconds else "does not fit"
            rows.append({"frames": length, "what": f"block: {reason}"})
            continue
        longest = (length, timed.median)
        for row, seconds in zip(rows[-len(times) :], times.values(), strict=True):
            row["block / memory"] = timed.median / seconds
        rows.append({"frames": length, "what": "block", **timed.milliseconds(length)})
    return rows


def _block_time(request: BenchRequest, block: EncoderBlock, values: Tensor) -> Timing | None:
    """None where it does not fit."""
    tokens = values.flatten(1, 2)  # (1, T P, D)
    try:
        with torch.inference_mode():
            return measure(lambda: block(tokens), request.device, request.repeats, warm_ups=1)
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        return None


def _tokens(setting: Setting, length: int, request: BenchRequest) -> Tensor:
    generator = torch.Generator(request.device).manual_seed(0)
    shape = (1, length, setting.tokens, setting.width)
    return torch.randn(shape, device=request.device, dtype=request.dtype, generator=generator)


def _first_cells(setting: Setting, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    global_cells, local_cells = setting.memory.initial_state(1)
    return global_cells.detach().to(dtype), local_cells.detach().to(dtype)


def _series(rows: list[Row]) -> dict[str, list[tuple[float, float]]]:
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if "median_ms" in row:
            series.setdefault(row["what"], []).append((row["frames"], row["median_ms"]))
    return series
