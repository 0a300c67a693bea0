"""(a) Frames per second, by the paper's protocol (section 4.2, runtime analysis)."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from locater.bench.harness.chart import Bars
from locater.bench.harness.checks import Check, agreement
from locater.bench.harness.clip import (
    DeviceClip,
    at_once,
    captured_clip,
    chunks_of,
    in_chunks,
    make_clip,
    network_masks,
    preset_config,
    preset_model,
)
from locater.bench.harness.report import Report, Row
from locater.bench.harness.request import BenchRequest
from locater.bench.harness.timing import measure
from locater.inference.chunk_length import CHUNK_FRAMES
from locater.inference.chunks import Chunks
from locater.model.locater import Locater
from locater.published.tables import printed_table

FRAMES = 36
SIZES = (512, 320)
OWN_WAY = "as the segmenter"
SPEED = "frames/s"
Run = Callable[[], Tensor]  # logits (E, T, h, w)


def run(request: BenchRequest) -> Report:
    """Frames per second of every way to run the preset, each checked against float32, op by op, in small chunks."""
    frames = 4 if request.is_quick else FRAMES
    sizes = (preset_config(request).image_size,) if request.is_quick else SIZES
    rows: list[Row] = []
    checks: list[Check] = []
    for size in sizes:
        found, checked = _rows_at(request, size, frames)
        rows += found
        checks += checked
    bars = {f"{row['size']}, {row['way']}": row["frames/s"] for row in rows if row["frames/s"] is not None}
    return Report(
        name="fps",
        title=f"preset {request.preset}, {frames} frames, one sentence of 20 words, {request.precision}",
        timed="from float frames at the network's size on the device to thresholded masks at that size on the device: "
        "the text encoder, the global memory's pass (every n-th frame), the visual encoder, the fusion, and for "
        "every frame read, decode and write with the mask's feedback. Decoding, copying and resizing video are in "
        "end_to_end. Tokenising is not in it.",
        columns=("size", "way", "median_ms", "lowest_ms", "highest_ms", "frames/s", "TFLOP/s"),
        chart=Bars(f"Frames per second, {request.preset}, {request.precision}", "frames/s", bars),
        rows=rows,
        checks=checks,
        notes=[f"At 36 x 512 x 512 on an RTX 2080 Ti, frames/s by the paper: {_printed()}."],
    )


def _printed() -> str:
    rows = printed_table("a2dsota").rows
    return ", ".join(f"{row.name} {row.cells[SPEED]}" for row in rows if row.value(SPEED) is not None)


def _rows_at(request: BenchRequest, size: int, frames: int) -> tuple[list[Row], list[Check]]:
    model = preset_model(request, size)
    clip = make_clip(model, frames, 1, request.device)
    rows: list[Row] = []
    # The reference is float32 to the last bit: cuDNN's shorter TF32 would differ from chunk size to chunk size.
    with torch.inference_mode(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        plain = Chunks(model, is_replayed=False)
        exact = in_chunks(plain, clip, CHUNK_FRAMES if not request.is_quick else frames // 2)
        checks = [agreement(f"{size}: at once, float32", exact, at_once(plain, clip))]
        for way, make in _ways(request, model, clip):
            work = make()
            several = [work() for _ in range(3)]  # once plainly, once captured, once replayed
            check = agreement(f"{size}: {way}, against float32", exact, several[-1], request.dtype)
            checks.append(check)
            if not check.holds:
                rows.append({"size": size, "way": f"{way} (disagrees)", "frames/s": None})
                continue
            timing = measure(lambda work=work: network_masks(work(), size), request.device, request.repeats)  # type: ignore[misc]
            rows.append({"size": size, "way": way, **timing.milliseconds(), "frames/s": frames / timing.median})
    operations = _operations(model, clip)
    for row in rows:
        if row["frames/s"] is not None:
            row["TFLOP/s"] = operations / (row["median_ms"] / 1e3) / 1e12
    return rows, checks


def _operations(model: Locater, clip: DeviceClip) -> int:
    """Floating-point operations of the clip's matrix products and convolutions, each frame encoded once."""
    plain = copy.deepcopy(model).requires_grad_(False)  # the counter hooks into gradients
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        at_once(Chunks(plain, is_replayed=False), clip)
    return int(counter.get_total_flops())


def _ways(request: BenchRequest, model: Locater, clip: DeviceClip) -> list[tuple[str, Callable[[], Run]]]:
    """A name, and what makes the work."""
    own = chunks_of(request, model, is_replayed=request.is_cuda)

    def compiled() -> Run:
        fused = chunks_of(request, model, is_replayed=True, is_compiled=True)
        return lambda: in_chunks(fused, clip)

    ways: list[tuple[str, Callable[[], Run]]] = [(OWN_WAY, lambda: lambda: in_chunks(own, clip))]
    if request.is_cuda:
        ways.append(("the same, op by op", lambda: lambda: in_chunks(chunks_of(request, model), clip)))
        ways.append(("whole clip and words, one CUDA graph", lambda: captured_clip(chunks_of(request, model), clip)))
        if request.is_compiled:
            ways.append((f"{OWN_WAY}, compiled", compiled))
    return ways
